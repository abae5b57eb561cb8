package fakeslack

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Input is what a person enters into one element.
type Input struct {
	Options []string // texts or values of options
	Text    string   // typed text or number
	Date    string
}

// Click presses a button of a message, by its text or its action id.
func (s *Server) Click(user string, at Place, button string) Delivery {
	return s.act(user, at, button, Input{})
}

// Choose sets an element of a message: options of a select or of checkboxes.
func (s *Server) Choose(user string, at Place, element string, in Input) Delivery {
	return s.act(user, at, element, in)
}

func (s *Server) act(user string, at Place, name string, in Input) Delivery {
	s.mu.Lock()
	m := s.seenBy(user, at)
	if m == nil {
		s.mu.Unlock()
		return Delivery{Lost: "there is no such message"}
	}
	e := find(m.Elements(), name)
	if e == nil {
		s.mu.Unlock()
		return Delivery{Lost: "there is no such button"}
	}
	if m.For == "" {
		s.setState(at.Channel+"/"+at.TS+"/"+user, e, in)
	}
	payload := s.clicked(user, m, e, in)
	s.mu.Unlock()
	return s.deliver(interactive, payload, 0, "")
}

// seenBy returns a message that a user sees, ephemeral ones included; nil: there is none. The caller
// holds the lock.
func (s *Server) seenBy(user string, at Place) *Message {
	if m, ok := s.messages[at]; ok && !m.Deleted {
		return m
	}
	for i := range s.ephemeral {
		if m := &s.ephemeral[i]; m.Place == at && m.For == user && !m.Deleted {
			return m
		}
	}
	return nil
}

// clicked returns the payload of a click on a message; the caller holds the lock.
func (s *Server) clicked(user string, m *Message, e Block, in Input) map[string]any {
	at := m.Place
	payload := s.interaction("block_actions", user)
	container := map[string]any{"type": "message", "message_ts": at.TS, "channel_id": at.Channel, "is_ephemeral": m.For != ""}
	if m.Thread != "" {
		container["thread_ts"] = m.Thread
	}
	payload["container"] = container
	payload["channel"] = map[string]any{"id": at.Channel, "name": s.channelName(at.Channel)}
	if m.For == "" { // an ephemeral message is not in the payload
		payload["message"] = s.messageObject(m)
	}
	payload["state"] = map[string]any{"values": s.stateOf(at.Channel + "/" + at.TS + "/" + user)}
	respond := s.id("respond")
	s.responses[respond] = at
	payload["response_url"] = "http://" + s.addr + "/respond/" + respond
	payload["actions"] = []any{s.action(e, in)}
	return payload
}

// ClickView presses a button in a user's modal or, with home, on the Home tab.
func (s *Server) ClickView(user, button string, home bool) Delivery {
	return s.actView(user, button, home, Input{})
}

func (s *Server) actView(user, name string, home bool, in Input) Delivery {
	var v View
	var ok bool
	if home {
		v, ok = s.Home(user)
	} else {
		v, ok = s.Modal(user)
	}
	if !ok {
		return Delivery{Lost: "nothing is open"}
	}
	e := find(v.Elements(), name)
	if e == nil {
		return Delivery{Lost: "there is no such button"}
	}
	s.mu.Lock()
	payload := s.interaction("block_actions", user)
	payload["container"] = map[string]any{"type": "view", "view_id": v.ID}
	payload["view"] = s.viewObject(&v)
	payload["actions"] = []any{s.action(e, in)}
	s.mu.Unlock()
	return s.deliver(interactive, payload, 0, "")
}

// Submit fills in a user's open modal, by the labels or action ids of its inputs, and submits it.
// The app never receives what Slack rejects in the browser.
func (s *Server) Submit(user string, inputs map[string]Input) Delivery {
	v, ok := s.Modal(user)
	if !ok {
		return Delivery{Lost: "no modal is open"}
	}
	s.mu.Lock()
	key := v.ID + "/" + user
	for _, b := range v.Blocks {
		e, ok := b["element"].(map[string]any)
		if !ok {
			continue
		}
		label, _ := b["label"].(map[string]any)
		id, _ := e["action_id"].(string)
		in, given := inputs[textOf(label)]
		if !given {
			in, given = inputs[id]
		}
		e = maps.Clone(e)
		e["block_id"] = b["block_id"]
		if !given {
			in = initial(e)
		}
		if optional, _ := b["optional"].(bool); !optional && empty(in) {
			s.mu.Unlock()
			return Delivery{Lost: "please complete this required field: " + textOf(label)}
		}
		if why := refused(e, in); why != "" {
			s.mu.Unlock()
			return Delivery{Lost: why}
		}
		s.setState(key, e, in)
	}
	payload := s.interaction("view_submission", user)
	object := s.viewObject(&v)
	object["state"] = map[string]any{"values": s.stateOf(key)}
	payload["view"] = object
	payload["response_urls"] = []any{}
	s.mu.Unlock()
	d := s.deliver(interactive, payload, 0, "")
	if d.Acked {
		s.respondToView(v.ID, d.Body)
	}
	return d
}

// respondToView applies the app's acknowledgement of a submission.
func (s *Server) respondToView(id string, body json.RawMessage) {
	var response struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
		View   any               `json:"view"`
	}
	if len(body) > 0 {
		_ = json.Unmarshal(body, &response)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	switch response.Action {
	case "errors":
		v.Errors = response.Errors
	case "update":
		if next, err := readView(args{"view": response.View}, "modal"); err == nil {
			next.ID, next.User, next.Root, next.Hash = v.ID, v.User, v.Root, s.id("hash.")
			s.views[id] = next
		} else {
			v.Errors = map[string]string{"": err.Error()}
		}
	default:
		v.Closed = true
	}
}

// Write posts a user's message; with a thread, a reply in it.
func (s *Server) Write(user, channel, thread, text string) Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{Place: Place{channel, s.ts()}, Thread: thread, User: user, Text: text}
	s.put(m)
	s.emitMessage(m)
	return m.Place
}

// OpenHome opens the app's Home tab for a user.
func (s *Server) OpenHome(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	event := map[string]any{"type": "app_home_opened", "user": user, "channel": "D0HOME", "tab": "home", "event_ts": s.ts()}
	if v := s.homes[user]; v != nil {
		event["view"] = s.viewObject(v)
	}
	s.emit(event)
}

// Command sends a slash command.
func (s *Server) Command(user, channel, command, text string) Delivery {
	s.mu.Lock()
	payload := map[string]any{
		"command": command, "text": text, "user_id": user, "channel_id": channel, "team_id": s.opts.Team, "enterprise_id": s.opts.Enterprise,
		"api_app_id": AppID, "trigger_id": s.newTrigger(user), "response_url": "http://" + s.addr + "/respond/" + s.id("respond"),
	}
	s.mu.Unlock()
	return s.deliver(slash, payload, 0, "")
}

// interaction returns the common part of all interactions; the caller holds the lock.
func (s *Server) interaction(kind, user string) map[string]any {
	u := s.users[user]
	team := s.opts.Team
	if s.hooks.clickTeam != "" {
		team = s.hooks.clickTeam
	}
	p := map[string]any{
		"type": kind, "api_app_id": AppID, "token": "unused", "trigger_id": s.newTrigger(user), "is_enterprise_install": false,
		"team": map[string]any{"id": team, "domain": "home"}, "user": map[string]any{"id": user, "username": u.Name, "name": u.Name, "team_id": u.Team},
	}
	if s.opts.Enterprise != "" {
		p["enterprise"] = map[string]any{"id": s.opts.Enterprise, "name": "Grid"}
	}
	return p
}

func (s *Server) channelName(id string) string {
	if c := s.channels[id]; c != nil && c.Name != "" {
		return c.Name
	}
	return "directmessage"
}

// action returns one action as the app receives it.
func (s *Server) action(e Block, in Input) map[string]any {
	a := map[string]any{"type": e["type"], "action_id": e["action_id"], "block_id": e["block_id"], "action_ts": s.ts()}
	for _, key := range []string{"text", "value", "style"} {
		if e[key] != nil {
			a[key] = e[key]
		}
	}
	maps.Copy(a, valueOf(e, in))
	return a
}

// find returns the element with this text, action id or placeholder.
func find(list []Block, name string) Block {
	for _, e := range list {
		text, _ := e["text"].(map[string]any)
		hint, _ := e["placeholder"].(map[string]any)
		if e["action_id"] == name || textOf(text) == name || textOf(hint) == name && name != "" {
			return e
		}
	}
	return nil
}

// valueOf returns an element's value in Slack's format.
func valueOf(e Block, in Input) map[string]any {
	kind, _ := e["type"].(string)
	var chosen []any
	options, _ := e["options"].([]any)
	for _, name := range in.Options {
		for _, v := range options {
			o, _ := v.(map[string]any)
			text, _ := o["text"].(map[string]any)
			if o["value"] == name || textOf(text) == name {
				chosen = append(chosen, o)
				break
			}
		}
	}
	switch kind {
	case "static_select", "radio_buttons":
		if len(chosen) == 0 {
			return map[string]any{"selected_option": nil}
		}
		return map[string]any{"selected_option": chosen[0]}
	case "checkboxes", "multi_static_select":
		if chosen == nil {
			chosen = []any{}
		}
		return map[string]any{"selected_options": chosen}
	case "datepicker":
		if in.Date == "" {
			return map[string]any{"selected_date": nil}
		}
		return map[string]any{"selected_date": in.Date}
	case "plain_text_input", "number_input", "email_text_input", "url_text_input":
		if in.Text == "" {
			return map[string]any{"value": nil}
		}
		return map[string]any{"value": in.Text}
	}
	return nil
}

func empty(in Input) bool { return len(in.Options) == 0 && in.Text == "" && in.Date == "" }

// initial returns the initial value of an element.
func initial(e Block) Input {
	var in Input
	in.Text, _ = e["initial_value"].(string)
	in.Date, _ = e["initial_date"].(string)
	value := func(v any) {
		if o, ok := v.(map[string]any); ok {
			text, _ := o["value"].(string)
			in.Options = append(in.Options, text)
		}
	}
	if e["initial_option"] != nil {
		value(e["initial_option"])
	}
	if list, ok := e["initial_options"].([]any); ok {
		for _, v := range list {
			value(v)
		}
	}
	return in
}

// refused returns the browser's error for a typed value.
func refused(e Block, in Input) string {
	if in.Text == "" {
		return ""
	}
	switch e["type"] {
	case "plain_text_input":
		n := utf8.RuneCountInString(in.Text)
		if most, ok := e["max_length"].(float64); ok && n > int(most) || n > 3000 {
			return "too long"
		}
		if least, ok := e["min_length"].(float64); ok && n < int(least) {
			return "too short"
		}
	case "number_input":
		n, err := strconv.ParseFloat(in.Text, 64)
		if err != nil {
			return "not a number"
		}
		if decimal, _ := e["is_decimal_allowed"].(bool); !decimal && strings.Contains(in.Text, ".") {
			return "not a whole number"
		}
		for key, sign := range map[string]float64{"min_value": 1, "max_value": -1} {
			if text, ok := e[key].(string); ok {
				if bound, err := strconv.ParseFloat(text, 64); err == nil && (n-bound)*sign < 0 {
					return "out of bounds"
				}
			}
		}
	}
	return ""
}

// setState stores the value of an element; the caller holds the lock.
func (s *Server) setState(key string, e Block, in Input) {
	value := valueOf(e, in)
	if value == nil {
		return
	}
	if s.states == nil {
		s.states = map[string]map[string]map[string]any{}
	}
	if s.states[key] == nil {
		s.states[key] = map[string]map[string]any{}
	}
	block, _ := e["block_id"].(string)
	action, _ := e["action_id"].(string)
	value["type"] = e["type"]
	s.states[key][block] = map[string]any{action: value}
}

func (s *Server) stateOf(key string) map[string]map[string]any {
	if s.states[key] == nil {
		return map[string]map[string]any{}
	}
	return maps.Clone(s.states[key])
}

// serveResponse handles a message to a response_url.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	var body args
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&body); err != nil {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["response_url"]++
	at, known := s.responses[r.PathValue("id")]
	if known && body.flag("delete_original") {
		for i := range s.ephemeral {
			if s.ephemeral[i].Place == at {
				s.ephemeral[i].Deleted = true
			}
		}
		if old := s.messages[at]; old != nil {
			old.Deleted = true
		}
		s.wake()
		_, _ = io.WriteString(w, "ok")
		return
	}
	m := &Message{Place: at, User: BotUser}
	if err := m.read(body, maxUpdateText, true); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if old := s.messages[at]; known && old != nil && body.flag("replace_original") {
		old.Text, old.Blocks = m.Text, m.Blocks
		old.Edits++
	} else {
		m.TS, m.For = s.ts(), "the person who acted"
		s.ephemeral = append(s.ephemeral, *m)
	}
	_, _ = io.WriteString(w, "ok")
}

// Buttons returns the texts of all buttons, in order.
func Buttons(list []Block) []string {
	var texts []string
	for _, e := range list {
		if e["type"] == "button" {
			text, _ := e["text"].(map[string]any)
			texts = append(texts, textOf(text))
		}
	}
	return slices.Clip(texts)
}

// ClickPayload returns the payload of a click without sending it.
func (s *Server) ClickPayload(user string, at Place, button string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[at]
	payload := s.clicked(user, m, find(m.Elements(), button), Input{})
	data, _ := json.Marshal(payload)
	return string(data)
}
