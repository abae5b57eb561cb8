package card

import (
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Text returns the whole card as plain text, for surfaces that can render nothing else and for
// cards that a surface cannot render. [Draft] parses replies to it.
func (c *Card) Text() string {
	parts := []string{c.Head()}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(c.Title)
	if c.Title == "" {
		add(c.Several)
	}
	if c.End != nil {
		for i := range c.Questions {
			if !c.End.listed() {
				add(c.Questions[i].heading(c.words))
			}
		}
		add(c.End.Text())
		if c.Approval != nil {
			add(c.Approval.Text(c.Lang))
		}
		return strings.Join(append(parts, c.about()...), "\n\n")
	}
	if c.Context != nil {
		add(quoteFurther(strings.TrimRight(c.Context.Body, "\n")))
	}
	for i := range c.Files {
		add(c.Files[i].Text(c.Lang))
	}
	if !c.May.Answer {
		add(c.May.Why)
	}
	for i := range c.Questions {
		add(c.Questions[i].text(c, nil))
	}
	if c.Approval != nil {
		add(c.Approval.Text(c.Lang))
	}
	if c.Ladder != nil {
		add(c.Ladder.Text())
	}
	if c.May.Answer {
		add(c.HowTo)
	}
	return strings.Join(append(parts, c.about()...), "\n\n")
}

// Head returns one line: who asks, for whom, since when, until when.
func (c *Card) Head() string {
	w := c.words
	parts := []string{c.Asks()}
	if c.End != nil {
		parts[0] = w.Say("%s asked", c.Asker.Agent)
	}
	if c.Asker.For != "" {
		parts[0] = w.Say("%s %s|who asks, for whom", parts[0], w.Say("for %s", c.Asker.For))
	}
	if work := c.Asker.Work(w.Tag); work != "" {
		parts = append(parts, work)
	}
	parts = append(parts, w.Say("session %s", c.Asker.Session))
	if c.Asker.Tenant != "" {
		parts = append(parts, w.Say("tenant %s", c.Asker.Tenant))
	}
	if c.End == nil {
		waits, ends := "waiting %s", "ends %s"
		if c.Waits.Style == Clock {
			waits, ends = "since %s", "until %s"
		}
		parts = append(parts, w.Say(waits, c.Waits.Words))
		if c.Ends != nil {
			parts = append(parts, w.Say(ends, c.Ends.Words))
		}
		if c.Held != "" {
			parts = append(parts, c.Held)
		}
		if c.Priority.Words != "" {
			parts = append(parts, c.Priority.Words)
		}
	}
	return strings.Join(append(parts, c.Attention...), w.Say(" · "))
}

// about returns the lines below the questions: the deadline, who decides, where else it is shown,
// the link.
func (c *Card) about() []string {
	var lines []string
	if c.AtEnd != "" {
		lines = append(lines, c.AtEnd)
		for _, d := range c.Defaults {
			lines = append(lines, "  "+line(d.Question)+" "+line(d.Answer))
		}
	}
	if c.End == nil && c.May.Answer && c.ForThem != "" {
		lines = append(lines, c.ForThem)
	}
	if len(c.Places) > 0 {
		places := make([]string, len(c.Places))
		for i, p := range c.Places {
			places[i] = p.Where
			if also := strings.TrimSpace(p.Link + " " + p.Words); also != "" {
				places[i] += c.words.Say(" (%s)", also)
			}
		}
		lines = append(lines, c.words.Say("Also shown %s.", strings.Join(places, c.words.Say(", "))))
	}
	if c.Link != "" && c.May.Answer {
		lines = append(lines, c.words.Say("Answer it at %s", c.Link))
	}
	if len(lines) == 0 {
		return nil
	}
	return []string{strings.Join(lines, "\n")}
}

// QuestionText returns the i-th question as in [Card.Text], the options and what to type, for a
// width: previews are side by side below the options if they fit.
func (c *Card) QuestionText(i, width int, cells func(string) int) string {
	return c.Questions[i].text(c, sideBySide(c.Questions[i].Options, width, cells))
}

// quoteFurther quotes the later lines of an agent's text, so that they cannot pass for options or
// questions.
func quoteFurther(text string) string { return strings.ReplaceAll(text, "\n", "\n> ") }

// heading returns the question without its options.
func (v *Question) heading(w *lang.Language) string {
	s := quoteFurther(v.Text)
	if v.Chip != "" {
		s = v.Chip + w.Say(": ") + s
	}
	if v.Of > 1 {
		s = "[" + v.Name() + "] " + s
	}
	return s
}

// text returns the question with its options. Beside are their previews, unless they follow their
// options.
func (v *Question) text(c *Card, beside []string) string {
	var b strings.Builder
	b.WriteString(v.heading(c.words))
	for _, mark := range v.Marks {
		b.WriteString(c.words.Say(" (%s)", mark))
	}
	b.WriteByte('\n')
	for i := range v.Options {
		v.Options[i].text(&b, i+1, c.words, len(beside) == 0)
	}
	for _, l := range beside {
		b.WriteString(l + "\n")
	}
	if v.Unknown || c.May.Answer {
		b.WriteString(v.HowTo)
	} else if v.Hint != "" {
		b.WriteString(v.Hint)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (o *Option) text(b *strings.Builder, number int, w *lang.Language, previews bool) {
	b.WriteString("  " + strconv.Itoa(number) + ". " + o.Label)
	for _, mark := range o.Marks {
		b.WriteString(w.Say(" (%s)", mark))
	}
	if o.Description != "" {
		b.WriteString(" - " + line(o.Description))
	}
	if o.Cancels {
		b.WriteString(w.Say(" (%s)", w.Say("ends the whole ask")))
	}
	b.WriteByte('\n')
	if o.Preview == nil || !previews {
		return
	}
	for l := range strings.Lines(strings.TrimRight(o.Preview.Body, "\n")) {
		b.WriteString("     | " + strings.TrimRight(l, "\n") + "\n")
	}
}

// Text describes how the ask ended, with the answers if the sentence does not have them all.
func (e *End) Text() string {
	s := e.Sentence
	if !e.listed() {
		return s
	}
	for _, l := range e.Lines {
		question := line(l.Question)
		if !strings.HasSuffix(question, "?") && !strings.HasSuffix(question, "？") {
			question = strings.TrimSuffix(strings.TrimSuffix(question, ":"), "：") + strings.TrimSpace(e.words.Say(": "))
		}
		s += "\n  " + question + " " + line(l.Answer)
		if l.Note != "" {
			s += e.words.Say(" (%s)", line(l.Note))
		}
	}
	if e.Reply != "" {
		s += "\n  " + line(e.Reply)
	}
	return s
}

// listed reports whether the text names each question with its answer.
func (e *End) listed() bool {
	return e.Status == ask.StatusAnswered && e.Detailed || e.Status == ask.StatusExpired && e.Answers
}
