package card

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// called returns the context of an ask. Of a permission it writes the characters that nobody sees by their numbers: they are
// part of what is permitted.
func called(a *ask.Ask) string {
	if a.Permits() {
		return ask.Visible(strings.ReplaceAll(a.Context, "\r\n", "\n"))
	}
	return a.Context
}

// Compact leaves out the previews of a permission that its context has already, for surfaces that show both below each
// other.
func (c *Card) Compact() {
	for i := range c.Questions {
		q := &c.Questions[i]
		for j := range q.Options {
			if p := q.Options[j].Preview; c.Permits && p != nil && c.Context != nil && strings.Contains(c.Context.Body, strings.TrimSpace(p.Body)) {
				q.Options[j].Preview = nil
			}
		}
	}
}

// Withhold marks what permits a pending permission, which a surface cannot show whole: nobody permits what they do not
// see. It can still be refused there, and a link leads to where it is shown whole.
func (c *Card) Withhold(link bool) {
	c.Withheld = c.Say("This is too long to be shown whole here, so nobody can permit it here. Read all of it in the inbox and decide there, or refuse it here.")
	if link {
		c.Withheld = c.Say("This is too long to be shown whole here, so nobody can permit it here. Open it in the browser, read all of it and decide there, or refuse it here.")
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		q.Other, q.None, q.HowTo = nil, nil, ""
		for j := range q.Options {
			o := c.ask.Questions[i].Option(q.Options[j].ID)
			q.Options[j].Withheld = (o == nil || !c.ask.Denies(o)) && (q.Kind != ask.KindBoolean || q.Options[j].ID != No)
		}
	}
	c.HowTo = ""
}
