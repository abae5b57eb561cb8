package fakediscord

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Interaction is what a person did, and what came of it.
type Interaction struct {
	ID, Token string
	User      string
	Type      int // of the first reply; 0: none
	Form      *Form
	Told      *Message // what only the person sees
	Failed    bool     // there was no reply in time
	from      *Message
	channel   string
	kind      int
	at        time.Time
}

// Words returns what the person was told, or "".
func (in *Interaction) Words() string {
	if in.Told == nil {
		return ""
	}
	return in.Told.Content
}

// Click lets a person use a control of a message, by its label, or that of an option of a menu, and waits for the
// first reply. The error says that there is no such control, or no reply.
func (s *Server) Click(ctx context.Context, user string, at Message, name string) (Interaction, error) {
	data := map[string]any{}
	each(at.Components, func(c *Component) {
		if c.CustomID != "" && (c.Label == name || c.CustomID == name) {
			data = map[string]any{"component_type": c.Type, "custom_id": c.CustomID}
		}
		for _, o := range c.Options {
			if o.Label == name {
				data = map[string]any{"component_type": c.Type, "custom_id": c.CustomID, "values": []string{o.Value}}
			}
		}
	})
	if len(data) == 0 {
		return Interaction{}, fmt.Errorf("no control is called %q in %s", name, at.Shown())
	}
	return s.happen(ctx, user, at.Channel, &at, 3, data)
}

// Submit lets a person send the form of an interaction with the values of its fields: words, or labels of options.
func (s *Server) Submit(ctx context.Context, of Interaction, values map[string][]string) (Interaction, error) {
	if of.Form == nil {
		return Interaction{}, errors.New("no form is open")
	}
	var parts []any
	for i := range of.Form.Components {
		c := of.Form.Components[i].Component
		if c == nil {
			continue
		}
		sent, err := c.submit(values[c.CustomID])
		if err != nil {
			return Interaction{}, err
		}
		parts = append(parts, map[string]any{"type": label, "id": i + 1, "component": sent})
	}
	return s.happen(ctx, of.User, of.channel, of.from, 5, map[string]any{"custom_id": of.Form.CustomID, "components": parts})
}

// submit returns a field as it is sent. What is not given stays as the form has it.
func (c *Component) submit(given []string) (map[string]any, error) {
	required := c.Required == nil || *c.Required
	out := map[string]any{"type": c.Type, "custom_id": c.CustomID, "id": 1}
	if c.Type == input {
		words := c.Value
		if len(given) > 0 {
			words = given[0]
		}
		if required && words == "" {
			return nil, fmt.Errorf("field %s is required", c.CustomID)
		}
		out["value"] = words
		return out, nil
	}
	chosen := []string{}
	for _, o := range c.Options {
		if slices.Contains(given, o.Label) || given == nil && o.Default {
			chosen = append(chosen, o.Value)
		}
	}
	switch {
	case given != nil && len(chosen) != len(given):
		return nil, fmt.Errorf("field %s has no options %q", c.CustomID, given)
	case required && len(chosen) == 0:
		return nil, fmt.Errorf("field %s is required", c.CustomID)
	case c.Type == radios && len(chosen) > 1, c.Type == menu && c.MaxValues == nil && len(chosen) > 1:
		return nil, fmt.Errorf("field %s takes one", c.CustomID)
	}
	out["values"] = chosen
	if c.Type == radios {
		delete(out, "values")
		out["value"] = nil
		if len(chosen) > 0 {
			out["value"] = chosen[0]
		}
	}
	return out, nil
}

// happen delivers an interaction, with a message if there is one, and waits for its first reply.
func (s *Server) happen(ctx context.Context, user, channel string, at *Message, typ int, data map[string]any) (Interaction, error) {
	s.mu.Lock()
	u := s.users[user]
	in := &Interaction{ID: s.id(), Token: "token-" + s.id(), User: user, from: at, channel: channel, kind: typ, at: time.Now()}
	s.interactions[in.Token] = in
	body := map[string]any{
		"id": in.ID, "application_id": App, "type": typ, "token": in.Token, "version": 1, "channel_id": channel, "locale": "en-US", "data": data, "entitlements": []any{},
		"authorizing_integration_owners": map[string]string{"0": Guild}, "context": 1, "app_permissions": "0", "attachment_size_limit": 10 << 20,
	}
	if at != nil {
		body["message"] = s.shown(at)
	}
	if s.channels[channel] == "" {
		body["guild_id"], body["context"] = Guild, 0
		body["member"] = map[string]any{"user": u, "nick": nil, "roles": append([]string{}, u.Roles...), "flags": u.Flags, "pending": false, "permissions": "0"}
	} else {
		body["user"] = u
	}
	endpoint := s.endpoint
	if endpoint == "" {
		for _, one := range s.sessions {
			one.dispatch("INTERACTION_CREATE", body) //nolint:contextcheck // it has its own limit
		}
	}
	s.mu.Unlock()
	if endpoint != "" {
		go s.deliver(endpoint, in, body) //nolint:contextcheck // Discord delivers it in any case
	}
	return s.Replied(ctx, in.ID, s.opts.AckWithin, func(in *Interaction) bool { return in.Type != 0 })
}

// Replied waits until an interaction is so, for a while.
func (s *Server) Replied(ctx context.Context, id string, within time.Duration, is func(*Interaction) bool) (Interaction, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var got Interaction
	ok := s.Await(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, in := range s.interactions {
			if in.ID == id {
				got = *in
				return is(in)
			}
		}
		return false
	})
	if !ok {
		s.locked(func() {
			if in := s.interactions[got.Token]; in != nil && in.Type == 0 {
				in.Failed = true
			}
		})
		return got, errors.New("this interaction failed")
	}
	return got, nil
}

// deliver posts an interaction, signed, and takes its reply.
func (s *Server) deliver(endpoint string, in *Interaction, body any) {
	status, data, err := s.Post(endpoint, body, true)
	if err != nil || status != http.StatusOK {
		return // it fails after a while
	}
	_ = s.replied(in, data) // an invalid one fails after a while
}

// Post posts a body to an endpoint, with a signature or with a wrong one.
func (s *Server) Post(endpoint string, body any, signed bool) (status int, data []byte, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	sig := ed25519.Sign(s.private, append([]byte(stamp), raw...))
	if !signed {
		sig[3] ^= 1
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, endpoint, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Signature-Ed25519", hex.EncodeToString(sig))
	req.Header.Set("X-Signature-Timestamp", stamp)
	res, err := (&http.Client{Timeout: s.opts.AckWithin}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	data, err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, data, err
}

// SetEndpoint sets the address for interactions, as the developer's page does: it must answer a ping, and refuse a
// wrong signature. An empty one sends them over the gateway.
func (s *Server) SetEndpoint(address string) error {
	if address != "" {
		status, data, err := s.Post(address, map[string]any{"type": 1, "id": "1", "application_id": App, "token": "t"}, true)
		if err != nil || status != http.StatusOK || !strings.Contains(string(data), `"type":1`) {
			return fmt.Errorf("a ping is answered with %d %s, %w", status, data, err)
		}
		if status, _, err = s.Post(address, map[string]any{"type": 1, "id": "2", "application_id": App, "token": "t"}, false); err != nil || status != http.StatusUnauthorized {
			return fmt.Errorf("a wrong signature is answered with %d, %w", status, err)
		}
	}
	s.locked(func() { s.endpoint = address })
	return nil
}

// replied takes the first reply to an interaction.
func (s *Server) replied(in *Interaction, data []byte) error {
	var r struct {
		Type int             `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return invalid(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	switch {
	case in.Type != 0:
		return &refusal{400, 40060, "Interaction has already been acknowledged.", nil}
	case in.Failed || time.Since(in.at) > s.opts.AckWithin:
		return &refusal{404, 10062, "Unknown interaction", nil}
	}
	switch r.Type {
	case 4:
		var m sent
		if err := json.Unmarshal(r.Data, &m); err != nil {
			return invalid(err)
		}
		if err := s.tell(in, &m); err != nil {
			return err
		}
	case 5:
	case 6:
		if in.kind == kindCommand {
			return invalid(errors.New("a command has no message that stays as it is"))
		}
	case 9:
		var f Form
		if err := json.Unmarshal(r.Data, &f); err != nil || in.kind == 5 {
			return invalid(fmt.Errorf("a form cannot answer a form, %w", err))
		}
		if err := f.check(); err != nil {
			return invalid(err)
		}
		in.Form = &f
	default:
		return invalid(fmt.Errorf("type %d", r.Type))
	}
	in.Type = r.Type
	return nil
}

// tell shows a message to the person. The caller holds mu.
func (s *Server) tell(in *Interaction, m *sent) error {
	told := &Message{Channel: in.channel, Author: Bot, For: in.User, at: s.now()}
	if m.Flags != nil && *m.Flags&^(flagEphemeral|flagComponents|1<<2|1<<12) != 0 {
		return invalid(errors.New("flags"))
	}
	if err := told.take(m); err != nil {
		return invalid(err)
	}
	told.ID = s.id()
	in.Told = told
	s.messages = append(s.messages, told)
	return nil
}

func (s *Server) callback(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // a broken body is invalid
	s.mu.Lock()
	in := s.interactions[r.PathValue("token")]
	s.mu.Unlock()
	if in == nil || in.ID != r.PathValue("id") {
		refuse(w, &refusal{404, 10062, "Unknown interaction", nil})
		return
	}
	if err := s.replied(in, data); err != nil {
		refuse(w, err)
		return
	}
	reply(w, http.StatusNoContent, nil)
}

// followUp takes what is told later: a new message, or the one that was announced.
func (s *Server) followUp(w http.ResponseWriter, r *http.Request) {
	var m sent
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&m); err != nil {
		refuse(w, invalid(err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.interactions[r.PathValue("token")]
	switch {
	case in == nil, in.Type == 0, r.PathValue("app") != App, time.Since(in.at) > 15*time.Minute:
		refuse(w, &refusal{404, 10015, "Unknown Webhook", nil})
		return
	case r.Method == http.MethodPatch && in.Type != 5 && in.Told == nil:
		refuse(w, errMessage)
		return
	}
	if err := s.tell(in, &m); err != nil {
		refuse(w, err)
		return
	}
	s.touch()
	reply(w, http.StatusOK, s.shown(in.Told))
}
