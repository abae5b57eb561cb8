package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is one message in a channel.
type Message struct {
	Place
	Thread    string // first message of the thread; empty: not a reply
	User      string // author; the bot's user for the app's messages
	Text      string
	Blocks    []Block
	Metadata  map[string]any
	Broadcast bool // a reply that is also shown in the channel
	Unfurl    bool
	Deleted   bool
	Edits     int
	For       string // ephemeral: only this user sees it
}

// Block is a block of Block Kit as received.
type Block = map[string]any

// Limits of a message's text, in characters. An update allows less than a post.
const (
	maxPostText   = 40_000
	maxUpdateText = 4_000
)

func (s *Server) chatPost(a args) (reply, error) {
	c, err := s.writable(a.text("channel"))
	if err != nil {
		return nil, err
	}
	m := &Message{Place: Place{Channel: c.ID}, User: BotUser, Thread: a.text("thread_ts"), Broadcast: a.flag("reply_broadcast")}
	if err := m.read(a, maxPostText, false); err != nil {
		return nil, err
	}
	m.Unfurl = a["unfurl_links"] == nil && a["unfurl_media"] == nil || a.flag("unfurl_links") || a.flag("unfurl_media")
	if m.Thread != "" && s.messages[Place{c.ID, m.Thread}] == nil {
		m.Thread, m.Broadcast = "", false // Slack then posts to the channel
	}
	a.object("metadata", &m.Metadata)
	m.TS = s.ts()
	s.put(m)
	s.emitMessage(m)
	return reply{"channel": c.ID, "ts": m.TS, "message": s.messageObject(m)}, nil
}

// put stores a new message; the caller holds the lock.
func (s *Server) put(m *Message) {
	s.messages[m.Place] = m
	s.order = append(s.order, m.Place)
}

// writable returns a channel that the app may post to.
func (s *Server) writable(id string) (*Channel, error) {
	if u, ok := s.users[id]; ok { // a user's id means the direct message
		out, err := s.conversationsOpen(args{"users": u.ID})
		if err != nil {
			return nil, fail("channel_not_found")
		}
		object, _ := out["channel"].(map[string]any)
		id, _ = object["id"].(string)
	}
	c, ok := s.channels[id]
	switch {
	case !ok:
		return nil, fail("channel_not_found")
	case c.Archived:
		return nil, fail("is_archived")
	case c.With != "" && s.users[c.With].Deleted:
		return nil, fail("user_disabled")
	case c.With == "" && !slices.Contains(c.Members, BotUser) && !slices.Contains(s.opts.Scopes, "chat:write.public"):
		return nil, fail("not_in_channel")
	}
	return c, nil
}

// read sets text and blocks, and rejects what Slack rejects.
func (m *Message) read(a args, maxText int, update bool) error {
	if !a.object("blocks", &m.Blocks) {
		return fail("invalid_blocks_format")
	}
	m.Text = a.text("text")
	switch {
	case strings.TrimSpace(m.Text) == "" && len(m.Blocks) == 0:
		return fail("no_text")
	case utf8.RuneCountInString(m.Text) > maxText && update:
		return fail("msg_too_long")
	case utf8.RuneCountInString(m.Text) > maxText:
		m.Text = string([]rune(m.Text)[:maxText]) // Slack truncates posts silently
	}
	if faults := checkMessage(m.Blocks); len(faults) > 0 {
		return fail("invalid_blocks", faults...)
	}
	var wire bytes.Buffer
	e := json.NewEncoder(&wire)
	e.SetEscapeHTML(false)
	if err := e.Encode(m.Blocks); err != nil || wire.Len() > maxBlocksBytes {
		return fail("msg_blocks_too_long")
	}
	name(m.Blocks)
	return nil
}

func (s *Server) chatUpdate(a args) (reply, error) {
	id, ts := a.text("channel"), a.text("ts")
	c, ok := s.channels[id]
	if !ok {
		return nil, fail("channel_not_found")
	}
	m, ok := s.messages[Place{id, ts}]
	switch {
	case !ok || m.Deleted:
		return nil, fail("message_not_found")
	case c.Archived:
		return nil, fail("is_archived")
	case m.User != BotUser:
		return nil, fail("cant_update_message")
	}
	changed := &Message{}
	if err := changed.read(a, maxUpdateText, true); err != nil {
		return nil, err
	}
	m.Text = changed.Text
	if a["blocks"] != nil || changed.Text != "" { // text alone removes the blocks
		m.Blocks = changed.Blocks
	}
	a.object("metadata", &m.Metadata)
	m.Edits++
	return reply{"channel": id, "ts": ts, "text": m.Text, "message": s.messageObject(m)}, nil
}

// chatEphemeral shows a message to one active member of the channel. No other method finds its
// timestamp.
func (s *Server) chatEphemeral(a args) (reply, error) {
	c, err := s.writable(a.text("channel"))
	if err != nil {
		return nil, err
	}
	u, ok := s.users[a.text("user")]
	if !ok || u.Deleted || c.With == "" && len(c.Members) > 0 && !slices.Contains(c.Members, u.ID) {
		return nil, fail("user_not_in_channel")
	}
	m := &Message{Place: Place{Channel: c.ID}, User: BotUser, For: u.ID, Thread: a.text("thread_ts")}
	if err := m.read(a, maxUpdateText, false); err != nil {
		return nil, err
	}
	m.TS = s.ts()
	s.ephemeral = append(s.ephemeral, *m)
	return reply{"message_ts": m.TS}, nil
}

func (s *Server) chatPermalink(a args) (reply, error) {
	p := Place{a.text("channel"), a.text("message_ts")}
	if m, ok := s.messages[p]; !ok || m.Deleted {
		return nil, fail("message_not_found")
	}
	return reply{"channel": p.Channel, "permalink": "https://home.slack.com/archives/" + p.Channel + "/p" + strings.ReplaceAll(p.TS, ".", "")}, nil
}

func (s *Server) conversationsHistory(a args) (reply, error) {
	c, err := s.readable(a.text("channel"))
	if err != nil {
		return nil, err
	}
	return s.history(a, true, func(m *Message) bool { return m.Channel == c.ID && (m.Thread == "" || m.Broadcast) }), nil
}

func (s *Server) conversationsReplies(a args) (reply, error) {
	c, err := s.readable(a.text("channel"))
	if err != nil {
		return nil, err
	}
	root := a.text("ts")
	if s.messages[Place{c.ID, root}] == nil {
		return nil, fail("thread_not_found")
	}
	return s.history(a, false, func(m *Message) bool { return m.Channel == c.ID && (m.TS == root || m.Thread == root) }), nil
}

func (s *Server) readable(id string) (*Channel, error) {
	c, ok := s.channels[id]
	if !ok {
		return nil, fail("channel_not_found")
	}
	needs := "channels:history"
	if c.With != "" {
		needs = "im:history"
	}
	if !slices.Contains(s.opts.Scopes, needs) {
		return nil, &apiError{code: "missing_scope", extra: reply{"needed": needs, "provided": strings.Join(s.opts.Scopes, ",")}}
	}
	if c.With == "" && !slices.Contains(c.Members, BotUser) {
		return nil, fail("not_in_channel")
	}
	return c, nil
}

// history returns the messages between oldest and latest, one page at a time.
func (s *Server) history(a args, newestFirst bool, in func(*Message) bool) reply {
	limit := 100
	if n, err := strconv.Atoi(a.text("limit")); err == nil && n > 0 {
		limit = min(n, 999)
	}
	oldest, latest := a.text("oldest"), a.text("latest")
	var found []*Message
	for _, p := range s.order {
		m := s.messages[p]
		if m != nil && !m.Deleted && in(m) && (oldest == "" || m.TS > oldest) && (latest == "" || m.TS < latest) {
			found = append(found, m)
		}
	}
	if newestFirst {
		slices.Reverse(found)
	}
	from := 0
	if n, err := strconv.Atoi(strings.TrimPrefix(a.text("cursor"), "from:")); err == nil {
		from = min(n, len(found))
	}
	to := min(from+limit, len(found))
	list := make([]map[string]any, 0, to-from)
	for _, m := range found[from:to] {
		list = append(list, s.messageObject(m))
	}
	out := reply{"messages": list, "has_more": to < len(found)}
	if to < len(found) {
		out["response_metadata"] = map[string]any{"next_cursor": "from:" + strconv.Itoa(to)}
	}
	return out
}

func (s *Server) messageObject(m *Message) map[string]any {
	object := map[string]any{"type": "message", "ts": m.TS, "text": m.Text, "user": m.User, "team": s.opts.Team}
	if len(m.Blocks) > 0 {
		object["blocks"] = m.Blocks
	}
	if m.User == BotUser {
		object["bot_id"], object["app_id"] = BotID, AppID
	}
	if m.Thread != "" {
		object["thread_ts"] = m.Thread
	}
	if len(m.Metadata) > 0 {
		object["metadata"] = m.Metadata
	}
	if m.Edits > 0 {
		object["edited"] = map[string]any{"user": BotUser, "ts": m.TS}
	}
	return object
}

// Messages returns the app's existing messages in a channel, or in all, the oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	for _, p := range s.order {
		if m := s.messages[p]; m != nil && !m.Deleted && m.User == BotUser && (channel == "" || p.Channel == channel) {
			list = append(list, *m)
		}
	}
	return list
}

// Message returns one message.
func (s *Server) Message(p Place) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.messages[p]
	if !ok || m.Deleted {
		return Message{}, false
	}
	return *m, true
}

// Ephemerals returns the ephemeral messages so far, the oldest first.
func (s *Server) Ephemerals() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ephemeral)
}

// Remove deletes a message as an administrator does, without an event.
func (s *Server) Remove(p Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.messages[p]; ok {
		m.Deleted = true
	}
}

// Live reports whether a message has an interactive element that calls the app.
func (m *Message) Live() bool {
	return slices.ContainsFunc(m.Elements(), func(e Block) bool { return e["url"] == nil })
}

// Elements returns all interactive elements of a message.
func (m *Message) Elements() []Block { return elements(m.Blocks) }

func elements(blocks []Block) []Block {
	var found []Block
	for _, b := range blocks {
		list, _ := b["elements"].([]any)
		if b["type"] == "context" || b["type"] == "rich_text" {
			list = nil
		}
		for _, key := range []string{"accessory", "element"} {
			if b[key] != nil {
				list = append(list, b[key])
			}
		}
		for _, one := range list {
			e, ok := one.(map[string]any)
			if !ok || e["type"] == "image" {
				continue
			}
			e = maps.Clone(e)
			e["block_id"] = b["block_id"]
			found = append(found, e)
		}
	}
	return found
}

// At returns the time of the timestamp.
func (p Place) At() time.Time {
	seconds, _, _ := strings.Cut(p.TS, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// Shown returns all visible text of a message, and the targets of its links.
func (m *Message) Shown() string {
	var b strings.Builder
	b.WriteString(m.Text)
	shown(&b, m.Blocks)
	return b.String()
}

// Shown returns all visible text of a view.
func (v *View) Shown() string {
	var b strings.Builder
	b.WriteString(v.Title)
	shown(&b, v.Blocks)
	return b.String()
}

func shown(b *strings.Builder, v any) {
	switch v := v.(type) {
	case []Block:
		for _, one := range v {
			shown(b, one)
		}
	case []any:
		for _, one := range v {
			shown(b, one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, isText := v[key].(string)
			if isText && (key == "text" || key == "url") {
				b.WriteString("\n" + text)
			} else if !isText {
				shown(b, v[key])
			}
		}
	}
}

// Take validates a message against the stricter limits of a post and an update, without a server.
func Take(text, blocks string) (*Message, error) {
	m := &Message{Place: Place{"C1", "1.000001"}, User: BotUser}
	return m, m.read(args{"text": text, "blocks": blocks}, maxUpdateText, true)
}

// TakeView is Take for a modal.
func TakeView(view string) error {
	_, err := readView(args{"view": view}, "modal")
	if e, ok := err.(*apiError); ok { //nolint:errorlint // made here, never wrapped
		return fmt.Errorf("%w: %v", e, e.extra)
	}
	return err
}

// Cards counts the app's messages, and those with interactive elements.
func (s *Server) Cards() (all, live int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.User == BotUser && !m.Deleted {
			all++
			if m.Live() {
				live++
			}
		}
	}
	return all, live
}
