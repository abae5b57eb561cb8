package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// MaxHeading is the maximum length of the heading in a head, in characters.
const MaxHeading = 120

// headJSON is what a list shows of an ask: an ask without its questions.
type headJSON struct {
	ID        string            `json:"id"`
	Title     string            `json:"title,omitempty"`
	Agent     ask.Agent         `json:"agent,omitzero"`
	Priority  ask.Priority      `json:"priority,omitempty"`
	Audience  []string          `json:"audience,omitempty"`
	MinProof  string            `json:"min_proof,omitempty"`
	Excludes  bool              `json:"exclude_asker,omitempty"`
	Asker     []string          `json:"asker,omitempty"`
	Only      string            `json:"only,omitempty"`
	Exclude   []string          `json:"exclude,omitempty"`
	Approval  json.RawMessage   `json:"approval,omitempty"`
	Escalate  json.RawMessage   `json:"escalate,omitempty"`
	Repeat    int               `json:"escalate_repeat,omitempty"`
	Hours     string            `json:"escalate_hours,omitempty"`
	Open      json.RawMessage   `json:"open_hours,omitempty"`
	Deadline  time.Time         `json:"deadline,omitzero"`
	Questions []json.RawMessage `json:"questions"`
}

// Head reduces an ask's JSON to what a list shows: id, its heading as the
// title, agent, priority, audience, min_proof, who is excluded or alone may
// decide, approval, ladder and deadline, but no questions.
func Head(raw []byte) (json.RawMessage, error) {
	var h headJSON
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, fmt.Errorf("read head: %w", err)
	}
	if h.Title == "" && len(h.Questions) > 0 {
		var q struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(h.Questions[0], &q); err != nil {
			return nil, fmt.Errorf("read head: %w", err)
		}
		h.Title = q.Text
	}
	if !h.Excludes && h.Only == "" && h.Approval == nil {
		h.Asker = nil
	}
	h.Agent.Link = "" // only cards show it; a list has thousands of heads
	h.Title, h.Questions = Heading(h.Title), []json.RawMessage{}
	return Marshal(h)
}

// Heading returns one line that is safe to show, of at most [MaxHeading]
// characters.
func Heading(s string) string { return ask.Clip(ask.CleanLine(s), MaxHeading) }

// Mark describes a list of heads.
type Mark struct {
	At   string `json:"mark"` // the list contains everything stored before it; see [Query.Since]
	Full bool   `json:"full"` // the list is complete: an ask that it does not have is not pending
}

// EncodeHeads returns the reply to a request for heads: [EncodePage] with a
// mark.
func EncodeHeads(items []ListItem, next string, m Mark) ([]byte, error) {
	page, err := EncodePage(items, next)
	if err != nil || m.At == "" {
		return page, err
	}
	b := append(make([]byte, 0, len(page)+len(m.At)+32), `{"mark":`...)
	b = append(strconv.AppendQuote(b, m.At), `,"full":`...)
	b = append(strconv.AppendBool(b, m.Full), ',')
	return append(b, page[1:]...), nil
}

// DecodeMark reads the mark of a page of heads. It is empty on later pages.
func DecodeMark(page []byte) (Mark, error) {
	var m Mark
	if err := json.Unmarshal(page, &m); err != nil {
		return Mark{}, fmt.Errorf("read page: %w", err)
	}
	return m, nil
}
