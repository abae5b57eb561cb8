package wsapi

import (
	"encoding/json"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// cardJSON is a question as all our surfaces draw it: pkg/card decides words and order, and
// texts are split into spans, so that a client needs no Markdown. A frame of interact has it if the
// client asked with ?card=1, as the panel does. The client sends back the labels of the frame,
// whose options are in the same order.
type cardJSON struct {
	Lang        string       `json:"lang"`
	Asker       string       `json:"asker"`
	Work        string       `json:"work,omitempty"`
	Link        string       `json:"link,omitempty"`
	Host        string       `json:"host,omitempty"`
	Priority    string       `json:"priority,omitempty"`
	Urgent      bool         `json:"urgent,omitempty"`
	Title       []spanJSON   `json:"title,omitempty"`
	Permits     string       `json:"permits,omitempty"` // what a person permits, in Markdown
	Step        string       `json:"step,omitempty"`
	Marks       []string     `json:"marks,omitempty"`
	Text        []spanJSON   `json:"text"`
	Brief       []spanJSON   `json:"brief,omitempty"` // beginning of a long text
	Dir         string       `json:"dir"`
	Hint        string       `json:"hint,omitempty"`
	Options     []optionJSON `json:"options,omitempty"`
	Files       []spanJSON   `json:"files,omitempty"`
	Own         bool         `json:"own"` // free text is allowed
	Field       string       `json:"field,omitempty"`
	Placeholder string       `json:"placeholder,omitempty"`
	ForThem     string       `json:"for_them,omitempty"`
	Words       wordsJSON    `json:"words"`
}

// wordsJSON are the panel's own labels.
type wordsJSON struct {
	Send  string `json:"send"`
	Whole string `json:"whole"`
}

type optionJSON struct {
	Label       []spanJSON `json:"label"`
	Description []spanJSON `json:"description,omitempty"`
	Marks       []string   `json:"marks,omitempty"`
	Note        string     `json:"note,omitempty"`
	Preview     string     `json:"preview,omitempty"`
	Prose       bool       `json:"prose,omitempty"` // the preview is Markdown, not a layout
}

type spanJSON struct {
	Text string `json:"text"`
	Code bool   `json:"code,omitempty"`
	Bold bool   `json:"bold,omitempty"`
	Link string `json:"link,omitempty"`
	Host string `json:"host,omitempty"`
}

func spans(text string) []spanJSON {
	var all []spanJSON
	for _, sp := range card.Inline(text) {
		all = append(all, spanJSON(sp))
	}
	return all
}

// cards renders an ask, which people also see at link, as one card per question.
func cards(a *ask.Ask, lang, link string, now time.Time) []cardJSON {
	c := card.New(&ask.Record{State: ask.StatePending, Ask: *a, AskedAt: now}, card.Viewer{Surface: "panel", Lang: lang}, now)
	var files []spanJSON
	for _, f := range c.AllFiles() {
		files = append(files, spanJSON{Text: f.Text(c.Lang), Link: link + "/file/" + f.ID})
	}
	permits := ""
	if card.Delicate(a) && c.Context != nil {
		permits = c.Context.Body
	}
	all := make([]cardJSON, 0, len(c.Questions))
	for i := range c.Questions {
		q := &c.Questions[i]
		one := cardJSON{
			Lang: c.Lang, Asker: c.Asks(), Work: c.Asker.Work(c.Lang), Link: c.Asker.Link, Host: c.Asker.Host,
			Priority: c.Priority.Words, Urgent: c.Priority.Urgent(), Title: spans(c.Title), Permits: permits, Step: q.Step, Marks: q.Marks,
			Text: spans(q.Text), Brief: spans(q.Brief), Dir: q.Dir, Hint: q.Hint, Own: len(q.Options) == 0 || q.Other != nil, Field: c.Say("Your answer"),
			Placeholder: q.Placeholder, Files: files, ForThem: c.ForThem, Words: wordsJSON{c.Say("Send"), c.Say("The whole question")},
		}
		if q.Unknown {
			one.Hint = q.HowTo
		}
		if q.Other != nil {
			one.Field = q.Other.Label
		}
		for j := range q.Options {
			o := &q.Options[j]
			shown := optionJSON{Label: spans(o.Label), Description: spans(o.Description), Marks: o.Marks, Note: o.Note}
			if p := o.Preview; p != nil {
				shown.Preview, shown.Prose = p.Body, p.Kind == card.Prose
			}
			one.Options = append(one.Options, shown)
		}
		all = append(all, one)
	}
	return all
}

// withCard adds a card to the data of a frame.
func withCard(data json.RawMessage, c *cardJSON) json.RawMessage {
	view, err := json.Marshal(c)
	if err != nil || len(data) < 2 || data[len(data)-1] != '}' {
		return data // cannot fail: strings encode, and a frame is an object
	}
	return append(append(append(append(json.RawMessage{}, data[:len(data)-1]...), `,"card":`...), view...), '}')
}
