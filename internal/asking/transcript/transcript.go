// Package transcript reads the questions and answers of a recorded conversation: a coding agent's
// JSON lines, or a request body with messages.
//
// It decides which blocks belong together, by their ids. It leaves the content of a block to
// pkg/dialect. It is pure, and reports what it cannot read instead of omitting it.
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// Entry is an ask of a conversation.
type Entry struct {
	ID        string     `json:"id"` // of the tool_use block
	Time      string     `json:"time,omitempty"`
	Session   string     `json:"session,omitempty"`
	Questions []Question `json:"questions"`
	State     string     `json:"state"`              // answered, no answer, or open
	Response  string     `json:"response,omitempty"` // a free-text reply to the whole ask, or the text of a result without an answer
	Result    string     `json:"result,omitempty"`   // the whole result block as text
	Warnings  []string   `json:"warnings,omitempty"`
	Problem   string     `json:"problem,omitempty"` // why the block cannot be read
}

// Question is one question and its answer.
type Question struct {
	Header   string   `json:"header,omitempty"`
	Text     string   `json:"question"`
	Multiple bool     `json:"multiSelect,omitempty"`
	Options  []Option `json:"options"`
	Answer   string   `json:"answer,omitempty"`
	Notes    string   `json:"notes,omitempty"`
}

// Option is one option of a question.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// The states of an entry.
const (
	Answered = "answered"
	NoAnswer = "no answer" // a result that is not a human's answer
	Open     = "open"      // no result follows
)

// record is a line of a transcript, or a message of a request body.
type record struct {
	Time      string `json:"timestamp"`
	SessionID string `json:"sessionId"`
	message
	Message  *message          `json:"message"`
	Messages []json.RawMessage `json:"messages"`
	// The newer format of requests.
	Request json.RawMessage `json:"request"`
	Body    json.RawMessage `json:"body"`
}

type message struct {
	Content json.RawMessage `json:"content"`
}

// Read returns the asks of a conversation in order.
func Read(data []byte) ([]Entry, error) {
	r := &reader{at: map[string]int{}, asks: map[string]ask.Ask{}, named: map[string]int{}, waits: map[string]int{}}
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	for n := 1; d.More(); n++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("record %d is not JSON: %w", n, err)
		}
		r.record(raw, record{})
	}
	if r.records == 0 {
		return nil, errors.New("not a conversation: found neither messages nor lines with one")
	}
	return r.entries, nil
}

type reader struct {
	records int
	entries []Entry
	at      map[string]int // by id of the tool_use block
	asks    map[string]ask.Ask
	named   map[string]int // by the id of the ask, of askbus's MCP tools
	waits   map[string]int // by id of a block that waits for an earlier ask
}

func (r *reader) record(raw json.RawMessage, outer record) {
	if list := []json.RawMessage(nil); json.Unmarshal(raw, &list) == nil {
		for _, one := range list {
			r.record(one, outer)
		}
		return
	}
	var rec record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return // a line about something else
	}
	rec.Time = cmp.Or(rec.Time, outer.Time)
	rec.SessionID = cmp.Or(rec.SessionID, outer.SessionID)
	for _, inner := range append([]json.RawMessage{rec.Request, rec.Body}, rec.Messages...) {
		if len(inner) > 0 {
			r.record(inner, rec)
		}
	}
	m := rec.message
	if rec.Message != nil {
		m = *rec.Message
	}
	if len(m.Content) == 0 && len(rec.Messages) == 0 {
		return
	}
	r.records++
	var blocks []json.RawMessage
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		return // plain text
	}
	for _, block := range blocks {
		r.block(block, rec)
	}
}

func (r *reader) block(raw json.RawMessage, rec record) {
	var b struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		Name      string `json:"name"`
		ToolUseID string `json:"tool_use_id"`
		Input     struct {
			AskID string `json:"ask_id"`
		} `json:"input"`
	}
	// The dialect rejects other shapes, such as an input that is not an object.
	if err := json.Unmarshal(raw, &b); err != nil && b.Type == "" {
		return
	}
	name := toolName(b.Name)
	switch {
	case b.Type == "tool_use" && name == dialect.ToolName:
		if _, twice := r.at[b.ID]; twice {
			return // transcripts repeat blocks when they are resumed
		}
		r.at[b.ID] = len(r.entries)
		r.entries = append(r.entries, r.asked(renamed(raw, b.Name), b.ID, rec))
		if b.Input.AskID != "" {
			r.named[b.Input.AskID] = r.at[b.ID]
		}
	case b.Type == "tool_use" && name == awaitTool:
		if i, known := r.named[b.Input.AskID]; known {
			r.waits[b.ID] = i
		}
	case b.Type == "tool_result":
		i, known := r.at[b.ToolUseID]
		if !known {
			i, known = r.waits[b.ToolUseID]
		}
		if known && r.entries[i].State == Open {
			r.answered(&r.entries[i], raw)
			if id := askID.FindStringSubmatch(r.entries[i].Result); id != nil {
				r.named[id[1]] = i
			}
		}
	}
}

func (r *reader) asked(raw json.RawMessage, id string, rec record) Entry {
	e := Entry{ID: id, Time: rec.Time, Session: rec.SessionID, State: Open, Questions: []Question{}}
	a, warnings, err := dialect.Named("claude-code").Ask(raw)
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	r.asks[id] = a
	for _, w := range warnings {
		e.Warnings = append(e.Warnings, w.String())
	}
	for i := range a.Questions {
		asked := &a.Questions[i]
		q := Question{Header: asked.Header, Text: asked.Text, Multiple: asked.Multiple, Options: []Option{}}
		for j := range asked.Options {
			o := Option{Label: asked.Options[j].Label, Description: asked.Options[j].Description}
			if p := asked.Options[j].Preview; p != nil {
				o.Preview = p.Body
			}
			q.Options = append(q.Options, o)
		}
		e.Questions = append(e.Questions, q)
	}
	return e
}

func (r *reader) answered(e *Entry, raw json.RawMessage) {
	e.State, e.Result, e.Response = NoAnswer, words(raw), ""
	if strings.HasPrefix(e.Result, "pending: ") {
		e.State = Open // a later block may continue the wait
	}
	a, ok := r.asks[e.ID]
	if !ok {
		e.Response = e.Result
		return
	}
	reply, ok, err := readResult(&a, raw)
	if err != nil {
		e.Problem = err.Error()
	}
	if !ok {
		e.Response = e.Result
		return
	}
	e.State, e.Response = Answered, reply.Response
	for _, ans := range reply.Answers {
		for i := range a.Questions {
			if q := &a.Questions[i]; q.ID == ans.QuestionID && !ans.Empty() {
				e.Questions[i].Answer = q.Words(ans)
				e.Questions[i].Notes = ans.Notes
			}
		}
	}
}

// words returns the text of a tool_result block.
func words(raw json.RawMessage) string {
	var b struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(b.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(b.Content, &parts) != nil {
		return string(b.Content)
	}
	var lines []string
	for _, p := range parts {
		lines = append(lines, p.Text)
	}
	return strings.Join(lines, "\n")
}
