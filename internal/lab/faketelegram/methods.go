package faketelegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // photos
	_ "image/png"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// serve answers a call.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	_ = r.ParseMultipartForm(1 << 20) //nolint:gosec // a fake; // a call without fields has no form
	if r.Header.Get("Content-Type") == "application/json" {
		r.Form = fields(r.Body)
	}
	fail := func(code int, words string, after time.Duration) {
		body := map[string]any{"ok": false, "error_code": code, "description": words}
		if after > 0 {
			body["parameters"] = map[string]any{"retry_after": int(after.Seconds())}
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	s.mu.Lock()
	revoked, intercept := s.revoked, s.intercept
	s.calls[method]++
	s.mu.Unlock()
	if token != Token || revoked {
		fail(http.StatusUnauthorized, "Unauthorized", 0)
		return
	}
	if method == "getUpdates" {
		s.getUpdates(w, r, fail)
		return
	}
	var markup struct {
		Keyboard [][]Button `json:"inline_keyboard"`
		Force    bool       `json:"force_reply"`
	}
	unmarshal(r.FormValue("reply_markup"), &markup)
	data := ""
	if len(markup.Keyboard) > 0 && len(markup.Keyboard[0]) > 0 {
		data = markup.Keyboard[0][0].Data
	} else if m := s.at(r); m != nil && len(m.Seen) > 0 {
		data = m.Seen[0]
	}
	watched := intercept != nil && (method == "sendMessage" || method == "sendRichMessage" || strings.HasPrefix(method, "edit"))
	if watched {
		if after, err := intercept(method, data, false); err != nil {
			fail(failure(after), err.Error(), after)
			return
		}
	}
	result, err := s.call(method, r, markup.Keyboard, markup.Force)
	if err == nil && watched {
		var after time.Duration
		if after, err = intercept(method, data, true); err != nil {
			fail(failure(after), err.Error(), after)
			return
		}
	}
	if errors.Is(err, errUnknown) {
		fail(http.StatusNotFound, err.Error(), 0)
		return
	}
	if err != nil {
		fail(http.StatusBadRequest, err.Error(), 0)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

// fields returns the fields of a JSON body as those of a form.
func fields(body io.Reader) url.Values {
	var all map[string]json.RawMessage
	form := url.Values{}
	if json.NewDecoder(body).Decode(&all) != nil {
		return form
	}
	for name, value := range all {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		form.Set(name, text)
	}
	return form
}

func failure(after time.Duration) int {
	if after > 0 {
		return http.StatusTooManyRequests
	}
	return http.StatusBadGateway
}

// at returns the message that a call names.
func (s *Server) at(r *http.Request) *Message {
	chat, _ := strconv.ParseInt(r.FormValue("chat_id"), 10, 64)
	id, _ := strconv.Atoi(r.FormValue("message_id"))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(chat, id)
}

func (s *Server) call(method string, r *http.Request, keyboard [][]Button, force bool) (any, error) {
	at := s.at(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	chat, _ := strconv.ParseInt(r.FormValue("chat_id"), 10, 64)
	text := r.FormValue("text")
	var entities []Entity
	unmarshal(r.FormValue("entities"), &entities)
	switch method {
	case "getMe":
		return map[string]any{"id": Bot, "is_bot": true, "first_name": "askbus", "username": "askbus_fake_bot"}, nil
	case "sendMessage":
		if s.members[chat] == nil {
			return nil, errors.New("Bad Request: chat not found")
		}
		if err := check(text, entities, keyboard); err != nil {
			return nil, err
		}
		var reply struct {
			ID int `json:"message_id"`
		}
		unmarshal(r.FormValue("reply_parameters"), &reply)
		topic, _ := strconv.Atoi(r.FormValue("message_thread_id"))
		if err := s.mayWrite(chat, topic); err != nil {
			return nil, err
		}
		m := s.add(&Message{Chat: chat, Topic: topic, Text: text, Entities: entities, First: entities, Force: force, ReplyTo: reply.ID, From: s.users[Bot], Silent: r.FormValue("disable_notification") == "true"})
		m.show(keyboard)
		return s.shown(m), nil
	case "sendRichMessage":
		topic, _ := strconv.Atoi(r.FormValue("message_thread_id"))
		m := &Message{Chat: chat, Topic: topic, Rich: true, From: s.users[Bot], Silent: r.FormValue("disable_notification") == "true"}
		switch err := s.mayWrite(chat, topic); {
		case s.plainOnly:
			return nil, errUnknown
		case s.members[chat] == nil:
			return nil, errors.New("Bad Request: chat not found")
		case err != nil:
			return nil, err
		}
		if err := m.setRich(r.FormValue("rich_message")); err != nil {
			return nil, err
		}
		m.First = m.Entities
		s.add(m).show(keyboard)
		return s.shown(m), nil
	case "sendPhoto", "sendDocument":
		kind := strings.ToLower(strings.TrimPrefix(method, "send"))
		file, header, err := r.FormFile(kind)
		switch {
		case s.members[chat] == nil:
			return nil, errors.New("Bad Request: chat not found")
		case err != nil:
			return nil, fmt.Errorf("Bad Request: there is no %s in the request", kind)
		case kind == "photo" && header.Size > 10_000_000:
			return nil, errors.New("Bad Request: file is too big")
		}
		defer file.Close() //nolint:errcheck // read
		if size, _, err := image.DecodeConfig(file); kind == "photo" && (err != nil || size.Width+size.Height > 10_000 || max(size.Width, size.Height) > 20*min(size.Width, size.Height)) {
			return nil, errors.New("Bad Request: PHOTO_INVALID_DIMENSIONS")
		}
		var reply struct {
			ID int `json:"message_id"`
		}
		unmarshal(r.FormValue("reply_parameters"), &reply)
		return s.shown(s.add(&Message{Chat: chat, ReplyTo: reply.ID, From: s.users[Bot], File: kind + " " + header.Filename})), nil
	case "editMessageText":
		if at == nil {
			return nil, errNotFound
		}
		if rich := r.FormValue("rich_message"); rich != "" {
			return s.editRich(at, rich, keyboard)
		}
		if err := check(text, entities, keyboard); err != nil {
			return nil, err
		}
		if at.Text == text && same(at.Keyboard, keyboard) {
			return nil, errors.New("Bad Request: message is not modified")
		}
		at.Text, at.Entities, at.Edited, at.Rich = text, entities, true, false
		at.show(keyboard)
		s.touch()
		return s.shown(at), nil
	case "editMessageReplyMarkup":
		if at == nil {
			return nil, errNotFound
		}
		text := at.Text
		if at.Rich {
			text = "rich"
		}
		if err := check(text, nil, keyboard); err != nil {
			return nil, err
		}
		if same(at.Keyboard, keyboard) {
			return nil, errors.New("Bad Request: message is not modified")
		}
		at.show(keyboard)
		s.touch()
		return s.shown(at), nil
	case "answerCallbackQuery":
		if len([]rune(text)) > 200 {
			return nil, errors.New("Bad Request: MESSAGE_TOO_LONG")
		}
		s.told[r.FormValue("callback_query_id")] = text
		s.touch()
		return true, nil
	case "createForumTopic":
		return s.createTopic(chat, r.FormValue("name"))
	case "getChat":
		if s.members[chat] == nil {
			return nil, errors.New("Bad Request: chat not found")
		}
		return map[string]any{"id": chat, "type": "supergroup"}, nil
	case "setWebhook":
		return true, s.setWebhook(r.FormValue("url"), r.FormValue("secret_token"))
	case "deleteWebhook":
		s.webhook, s.secret = "", ""
		return true, nil
	case "getWebhookInfo":
		return map[string]any{"url": s.webhook}, nil
	case "getChatMemberCount":
		if s.members[chat] == nil {
			return nil, errors.New("Bad Request: chat not found")
		}
		return len(s.members[chat]) + 1, nil
	case "getChatMember":
		user, _ := strconv.ParseInt(r.FormValue("user_id"), 10, 64)
		status := "left"
		if s.members[chat][user] {
			status = "member"
		}
		return map[string]any{"status": status, "user": s.users[user]}, nil
	}
	return nil, errUnknown
}

func same(a, b [][]Button) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// show sets the keyboard.
func (m *Message) show(keyboard [][]Button) {
	m.Keyboard = keyboard
	for _, row := range keyboard {
		for _, b := range row {
			if b.Data != "" {
				m.Seen = append(m.Seen, b.Data)
			}
		}
	}
}

// getUpdates returns the updates from an offset, which confirms earlier ones, and ends the request of an
// earlier poller.
func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, fail func(int, string, time.Duration)) {
	offset, _ := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	seconds, _ := strconv.Atoi(r.FormValue("timeout"))
	s.mu.Lock()
	hooked := s.secret != ""
	s.mu.Unlock()
	if hooked {
		fail(http.StatusConflict, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", 0)
		return
	}
	over, ended := make(chan struct{}), time.NewTimer(time.Duration(seconds)*time.Second)
	defer ended.Stop()
	s.mu.Lock()
	s.poll()
	closed := false
	s.poll = func() {
		if !closed {
			closed = true
			close(over)
		}
	}
	mine := s.poll
	s.mu.Unlock()
	defer s.locked(func() { mine() })
	for {
		s.mu.Lock()
		changed, revoked := s.changed, s.revoked
		ready := []map[string]any{}
		for _, u := range s.updates {
			if id, _ := u["update_id"].(int64); id >= offset {
				ready = append(ready, maps.Clone(u))
			}
		}
		if offset > 0 {
			kept := s.updates[:0:0]
			for _, u := range s.updates {
				if id, _ := u["update_id"].(int64); id >= offset {
					kept = append(kept, u)
				}
			}
			s.updates = kept
		}
		s.mu.Unlock()
		if revoked { // a poll that is held ends
			fail(http.StatusUnauthorized, "Unauthorized", 0)
			return
		}
		if len(ready) == 0 {
			select {
			case <-changed:
				continue
			case <-over:
				s.locked(func() { s.conflicts++ })
				fail(http.StatusConflict, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", 0)
				return
			case <-r.Context().Done():
				return
			case <-ended.C:
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": ready})
		return
	}
}
