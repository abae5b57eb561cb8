package card

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Limits of a notice: a lock screen's size, and a push message's size.
const (
	noticeTitle  = 120
	noticeBody   = 280
	noticeChoice = 40
	noticeMost   = 3 // choices; more are not simple
)

// Notice is an ask on a lock screen: who asks what, and a few choices.
type Notice struct {
	Title   string   `json:"title"`
	Body    string   `json:"body"`
	Tag     string   `json:"tag"`  // per ask: a later notice replaces an earlier one
	Me      string   `json:"me"`   // the principal that it is for: it answers in nobody else's name
	Path    string   `json:"path"` // of the ask in the inbox
	Life    string   `json:"life,omitempty"`
	Choices []Choice `json:"choices,omitempty"`
	Urgent  bool     `json:"urgent,omitempty"`
	Ended   bool     `json:"ended,omitempty"` // it only reports the end
	Alone   bool     `json:"alone,omitempty"` // one person decided alone; people who had no notice are told as well
	// Uncounted is said when a choice did not count and nothing says why.
	Uncounted string `json:"uncounted,omitempty"`
}

// Choice is an answer that a notice offers.
type Choice struct {
	ID    string `json:"id"` // of the option
	Label string `json:"label"`
}

// Notice formats the card for a lock screen.
func (c *Card) Notice(life string) Notice {
	n := Notice{
		Title: ask.Clip(c.heading(), noticeTitle), Tag: c.Key.String(), Path: "/ask/" + c.Key.String(), Me: c.me, Life: life, Urgent: c.Priority.Urgent(),
	}
	if c.End != nil {
		n.Body, n.Ended = ask.Clip(c.End.Sentence, noticeBody), true
		n.Alone = c.End.Alone != ""
		return n
	}
	who := []string{c.Asks()}
	if work := c.Asker.Work(c.Lang); work != "" {
		who = append(who, work)
	}
	if c.Priority.Words != "" {
		who = append(who, c.Priority.Words)
	}
	lines := []string{strings.Join(who, c.words.Say(" · "))}
	if len(c.Questions) > 1 {
		lines = append(lines, c.Several)
	} else {
		if c.Title != "" {
			lines = append(lines, line(c.Questions[0].Plain()))
		}
		labels := make([]string, len(c.Questions[0].Options))
		for i := range labels {
			labels[i] = InlinePlain(c.Questions[0].Options[i].Label)
		}
		if len(labels) > 0 {
			lines = append(lines, strings.Join(labels, c.words.Say(" · ")))
		}
	}
	n.Body = ask.Clip(strings.Join(lines, "\n"), noticeBody)
	if n.Choices = c.simple(); n.Choices != nil {
		n.Uncounted = c.Say("Your answer did not count. Open the inbox, and answer there.")
	}
	return n
}

// heading returns the ask's one-line name without Markdown marks.
func (c *Card) heading() string {
	if c.Title != "" || len(c.Questions) == 0 {
		return InlinePlain(c.Title)
	}
	return line(c.Questions[0].Plain())
}

// simple returns the options that can be chosen with one touch: a few of the only question, none of
// which ends the ask without an answer, and nothing that is [Delicate].
func (c *Card) simple() []Choice {
	if !c.May.Answer || len(c.Questions) != 1 || Delicate(c.ask) {
		return nil
	}
	q := &c.Questions[0]
	if q.Multiple || q.Kind != ask.KindChoice && q.Kind != ask.KindBoolean || len(q.Options) > noticeMost {
		return nil
	}
	var choices []Choice
	for i := range q.Options {
		o := &q.Options[i]
		if o.Cancels || len(o.ID) > 128 {
			return nil
		}
		choices = append(choices, Choice{o.ID, ask.Clip(InlinePlain(o.Label), noticeChoice)})
	}
	return choices
}
