package fakefeishu

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Click is what a person does with a card.
type Click struct {
	Event string // id; the same one is a redelivery; default: a new one
	User  string // either id
	Label string // of the button, or its name
	Form  map[string]any
}

// Reaction is what the person sees then.
type Reaction struct {
	Told string // the toast
	Card map[string]any
	Err  error // the client shows an error
}

// Click lets a person press a button of a message as they see it, which may be an older state of it.
func (s *Server) Click(ctx context.Context, at Message, c Click) Reaction {
	for _, b := range at.Buttons() {
		if b.Label != c.Label && b.Name != c.Label {
			continue
		}
		action := map[string]any{"tag": "button"}
		if b.Form != nil {
			values, err := filled(b.Form, c.Form)
			if err != nil {
				return Reaction{Err: err}
			}
			action["name"], action["form_value"] = b.Name, values
		} else {
			action["value"] = b.Value
		}
		u := s.person(c.User)
		return s.react(ctx, at.ID, c.Event, map[string]any{
			"operator": map[string]any{"tenant_key": u.Tenant, "open_id": u.Open, "union_id": u.Union}, "token": "c-fake", "action": action,
			"host": "im_message", "context": map[string]any{"open_message_id": at.ID, "open_chat_id": at.Chat},
		})
	}
	return Reaction{Err: fmt.Errorf("no button is called %q", c.Label)}
}

func (s *Server) person(id string) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.user(id); u != nil {
		return *u
	}
	return User{Union: id, Open: id}
}

// filled returns the values of a form's fields, with those that a person gave.
func filled(form, given map[string]any) (map[string]any, error) {
	values := map[string]any{}
	list, _ := form["elements"].([]any)
	for _, one := range list {
		el, _ := one.(map[string]any)
		name, _ := el["name"].(string)
		switch el["tag"] {
		case "input", "select_static", "date_picker":
			values[name] = ""
		case "multi_select_static":
			values[name] = []string{}
		case "checker":
			values[name] = false
		default:
			continue
		}
		if v, ok := given[name]; ok {
			if s, _ := v.(string); el["tag"] == "input" && len([]rune(s)) > 1000 {
				return nil, fmt.Errorf("the field %s takes 1000 characters", name)
			}
			values[name] = v
		}
	}
	for name := range given {
		if values[name] == nil {
			return nil, fmt.Errorf("the form has no field %s", name)
		}
	}
	return values, nil
}

// react delivers a click, and shows what the answer says.
func (s *Server) react(ctx context.Context, message, id string, fields map[string]any) Reaction {
	raw, err := s.Deliver(ctx, "card.action.trigger", id, fields)
	if err != nil {
		return Reaction{Err: err}
	}
	var out struct {
		Toast struct {
			Content string `json:"content"`
		} `json:"toast"`
		Card struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		} `json:"card"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &out) != nil {
		return Reaction{Err: fmt.Errorf("200671: the answer is %s", raw)}
	}
	r := Reaction{Told: out.Toast.Content}
	if out.Card.Type == "" {
		return r
	}
	card, refused := parse(string(out.Card.Data))
	if refused != nil || out.Card.Type != "raw" {
		return Reaction{Err: fmt.Errorf("200672: the answer has a wrong card: %v", refused)}
	}
	r.Card = card
	s.locked(func() {
		if m := s.find(message); m != nil && !m.Recalled {
			m.show(card)
			s.touch()
		}
	})
	return r
}

// Write lets a person write in a chat, as a reply to a message if it is not "". With mention the words begin with one of
// the bot. It returns the answer's error.
func (s *Server) Write(ctx context.Context, user, chat, text, replyTo string, mention bool) error {
	u := s.person(user)
	mentions := []any{}
	if mention {
		mentions = append(mentions, map[string]any{"key": "@_user_1", "id": map[string]any{"open_id": BotOpenID, "union_id": "on_bot"}, "name": "askbus", "tenant_key": Tenant})
	}
	content, _ := json.Marshal(map[string]string{"text": map[bool]string{true: "@_user_1 "}[mention] + text}) // strings always marshal
	typ := "group"
	if strings.HasPrefix(chat, "oc_p2p") {
		typ = "p2p"
	}
	s.mu.Lock()
	m := s.add(&Message{Chat: chat, Kind: "text", Text: text, From: u.Union, Parent: replyTo})
	s.mu.Unlock()
	_, err := s.Deliver(ctx, "im.message.receive_v1", "", map[string]any{
		"sender":  map[string]any{"sender_id": map[string]any{"open_id": u.Open, "union_id": u.Union}, "sender_type": "user", "tenant_key": u.Tenant},
		"message": map[string]any{"message_id": m.ID, "parent_id": replyTo, "root_id": replyTo, "chat_id": chat, "chat_type": typ, "message_type": "text", "content": string(content), "mentions": mentions},
	})
	return err
}

// Webhook makes events go to an address instead of the long connection.
func (s *Server) Webhook(address string) { s.locked(func() { s.webhook = address }) }

// Deliver delivers an event, and returns the answer.
func (s *Server) Deliver(ctx context.Context, typ, id string, fields map[string]any) ([]byte, error) {
	if id == "" {
		id = rand.Text()
	}
	event := map[string]any{
		"schema": "2.0", "event": fields,
		"header": map[string]any{"event_id": id, "event_type": typ, "token": VerificationToken, "create_time": strconv.FormatInt(time.Now().UnixMilli(), 10), "tenant_key": Tenant, "app_id": AppID},
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	webhook, within := s.webhook, s.within
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if webhook == "" {
		return s.overConnection(ctx, id, payload)
	}
	return Send(ctx, webhook, payload, time.Now())
}

// Challenge sends what Feishu sends when the address is saved, and returns the answer.
func (s *Server) Challenge(ctx context.Context, words string) ([]byte, error) {
	s.mu.Lock()
	webhook := s.webhook
	s.mu.Unlock()
	payload, err := json.Marshal(map[string]string{"challenge": words, "token": VerificationToken, "type": "url_verification"})
	if err != nil {
		return nil, err
	}
	return Send(ctx, webhook, payload, time.Time{})
}

// Send encrypts and signs a payload as of a time, without a signature if that is zero, and returns the answer to it.
func Send(ctx context.Context, address string, payload []byte, at time.Time) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"encrypt": Encrypt(EncryptKey, payload)})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if !at.IsZero() {
		stamp, nonce := strconv.FormatInt(at.Unix(), 10), "nonce"
		sum := sha256.Sum256([]byte(stamp + nonce + EncryptKey + string(body)))
		req.Header.Set("X-Lark-Request-Timestamp", stamp)
		req.Header.Set("X-Lark-Request-Nonce", nonce)
		req.Header.Set("X-Lark-Signature", hex.EncodeToString(sum[:]))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	out, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", res.StatusCode, out)
	}
	return out, err
}

// Encrypt encrypts a payload for webhooks.
func Encrypt(key string, payload []byte) string {
	hash := sha256.Sum256([]byte(key))
	c, err := aes.NewCipher(hash[:])
	if err != nil {
		panic(err) // the hash has a valid length
	}
	pad := aes.BlockSize - len(payload)%aes.BlockSize
	padded := append(bytes.Clone(payload), bytes.Repeat([]byte{byte(pad)}, pad)...)
	out := make([]byte, aes.BlockSize+len(padded))
	_, _ = rand.Read(out[:aes.BlockSize])                                                   // never fails
	cipher.NewCBCEncrypter(c, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], padded) //nolint:gosec // it was filled above
	return base64.StdEncoding.EncodeToString(out)
}
