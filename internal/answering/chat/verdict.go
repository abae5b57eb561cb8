package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Mark is the sign before a verdict. Its zero value has none.
type Mark int

// The marks.
const (
	MarkAnswered Mark = iota + 1
	MarkDeclined
	MarkExpired
	MarkEnded
)

// Sign returns the sign of a mark, and a space.
func (m Mark) Sign() string {
	return map[Mark]string{MarkAnswered: "✅ ", MarkDeclined: "🚫 ", MarkExpired: "⌛ ", MarkEnded: "➖ "}[m]
}

// Summary is what the message of an ended ask says.
type Summary struct {
	Heading string
	Mark    Mark
	Verdict string // how it ended, without the time and the place: [card.End.TellShort]
	Where   string // may be empty
	Lines   []card.Line
	Reply   string // what was said to the whole ask; may be empty
	Votes   []string
	At      card.Moment
}

// Summarize returns it for the card of an ended ask. Clean makes a text literal, on one line, and cuts it to a number of
// bytes.
func Summarize(rec *ask.Record, c *card.Card, clean func(s string, most int) string) Summary {
	e := c.End
	sum := Summary{Heading: clean(card.Heading(&rec.Ask), 240), Where: clean(e.Where, 60), At: e.At}
	if sum.Mark = marks[rec.Outcome.Status]; e.Denied {
		sum.Mark = MarkDeclined
	}
	most := map[card.Part]int{card.PartWho: 80, card.PartWhat: 160, card.PartWhy: 400}
	sum.Verdict = e.TellShort(func(p card.Part, s string) string { return clean(s, most[p]) })
	if c.Approval != nil {
		sum.Votes, sum.Where = votes(c.Approval, clean), "" // each vote says where
		return sum
	}
	if e.Detailed || e.Reply != "" {
		sum.Reply = clean(e.Reply, 300)
		for _, l := range e.Lines {
			sum.Lines = append(sum.Lines, card.Line{Question: clean(l.Question, 90), Answer: clean(l.Answer, 90), Note: clean(l.Note, 120)})
		}
	}
	return sum
}

var marks = map[ask.Status]Mark{ //nolint:gochecknoglobals // never changed
	ask.StatusAnswered: MarkAnswered, ask.StatusCancelled: MarkDeclined, ask.StatusExpired: MarkExpired, ask.StatusWithdrawn: MarkEnded, ask.StatusAborted: MarkEnded,
}

// OptionText returns an option in one line: "1. PostgreSQL · recommended – What we use elsewhere (a note)". The functions
// make its parts literal and style them.
func OptionText(n int, o *card.Option, label, mark, rest func(string) string) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(n+1) + ". " + label(card.InlinePlain(o.Label)))
	for _, one := range o.Marks {
		b.WriteString(" · " + mark(one))
	}
	if o.Description != "" {
		b.WriteString(" – " + rest(OneLine(card.InlinePlain(o.Description))))
	}
	if o.Note != "" {
		b.WriteString(" (" + rest(o.Note) + ")")
	}
	if o.File != nil {
		b.WriteString(" " + FileText(o.File, func(s string, most int) string { return rest(ask.Clip(s, most)) }))
	}
	return b.String()
}

// OneLine joins the lines of a text.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxVotes bounds the votes that a message lists; how they stand says the rest.
const maxVotes = 15

// Votes returns the lines in which a message says how the votes on an ask stand; none unless several people decide it.
// Clean is as for [Summarize].
func Votes(p *card.Approval, clean func(s string, most int) string) (lines []string) {
	if p == nil {
		return nil
	}
	lines = append([]string{clean(p.Progress, 300)}, votes(p, clean)...)
	if how := strings.TrimSpace(p.HowTo + " " + p.Reason); how != "" {
		lines = append(lines, clean(how, 300))
	}
	return lines
}

// Standing returns the lines of a pending card about its votes and its ladder.
func Standing(c *card.Card, clean func(s string, most int) string) []string {
	lines := Votes(c.Approval, clean)
	if c.Ladder != nil {
		lines = append(lines, clean(c.Ladder.Text(), 300))
	}
	return lines
}

func votes(p *card.Approval, clean func(s string, most int) string) (lines []string) {
	for i := range p.Votes[:min(len(p.Votes), maxVotes)] {
		v := &p.Votes[i]
		said := "• " + v.Who + " " + v.Said
		if v.Void != "" {
			said += " (" + v.Void + ")"
		}
		if v.Reason != "" {
			said += ": " + v.Reason
		}
		lines = append(lines, clean(said, 160))
	}
	return lines
}

// Beside returns what follows a verdict: when it was, and where, as far as that is known.
func (s *Summary) Beside() []string {
	return slices.DeleteFunc([]string{s.At.Words, s.Where}, func(part string) bool { return part == "" })
}

// Foot returns the last lines of a pending card: that it was cut, or what follows from that, then further words, for whom it
// is, and when it ends. Clean is as for [Summarize]; it cuts all but the first to a number.
func Foot(c *card.Card, cut bool, clean func(s string, most int) string, most int, more ...string) (lines []string) {
	switch {
	case c.Withheld != "":
		lines = []string{clean(c.Withheld, 300)}
	case cut:
		lines = []string{c.Say("Not everything fits here.")}
	}
	for _, words := range append(more, c.ForThem, c.AtEnd) {
		if words != "" {
			lines = append(lines, clean(words, most))
		}
	}
	return lines
}

// Destroys reports whether an option of a pending card is destructive.
func Destroys(c *card.Card) bool {
	return slices.ContainsFunc(c.Questions, func(q card.Question) bool {
		return slices.ContainsFunc(q.Options, func(o card.Option) bool { return o.Destructive })
	})
}

// Tells reports whether an option of a question says more than its label, or its label is too long for a button.
func Tells(q *card.Question, long func(label string) bool) bool {
	return slices.ContainsFunc(q.Options, func(o card.Option) bool {
		return len(o.Marks) > 0 || o.Description != "" || o.Note != "" || o.Preview != nil || o.File != nil || long(o.Label)
	})
}

// Details returns a line for each answer and note, the reply and the votes; the answers between two marks of emphasis.
func (s *Summary) Details(mark string) (lines []string) {
	for _, l := range s.Lines {
		one := l.Question + " " + mark + l.Answer + mark
		if l.Note != "" {
			one += " (" + l.Note + ")"
		}
		lines = append(lines, one)
	}
	if s.Reply != "" {
		lines = append(lines, s.Reply)
	}
	return append(lines, s.Votes...)
}
