package card

import "github.com/askbus/askbus/pkg/ask"

// KeyHint is a key and its description. Keys are the same on every surface with a keyboard.
type KeyHint struct{ Key, Words string }

// Keys returns the keys that work on this card, in the order of use.
func (c *Card) Keys() []KeyHint {
	w := c.words
	var options, other, filter, previews, typed bool
	for i := range c.Questions {
		q := &c.Questions[i]
		options = options || len(q.Options) > 0
		other = other || q.Other != nil
		filter = filter || q.Filter
		previews = previews || q.Previews
		typed = typed || q.Kind == ask.KindText && q.Long
	}
	var keys []KeyHint
	add := func(when bool, key, words string) {
		if when {
			keys = append(keys, KeyHint{key, words})
		}
	}
	add(c.May.Answer && options, "1–9 0", w.Say("choose an option, 0 is the tenth"))
	add(c.May.Answer && other, "o", w.Say("Other, in your words"))
	add(c.May.Answer && !typed, "Enter", w.Say("send"))
	add(c.May.Answer && typed, "Ctrl+Enter", w.Say("send"))
	add(c.May.Answer && c.Approval == nil, "n", w.Say("add a note"))
	add(c.May.Answer && c.Approval != nil, "n", w.Say("add a reason"))
	add(c.May.Answer && c.Approval == nil, "r", w.Say("reply in your own words"))
	add(c.May.Decline, "x", w.Say("decline, with a reason"))
	add(c.BreakGlass != nil, "B", w.Say("decide alone (break-glass)"))
	if c.Approval != nil {
		add(c.Approval.TakeBack != "", "z", w.Say("take the vote back"))
	}
	add(c.Context != nil, "c", w.Say("what the agent is doing"))
	add(previews, "p", w.Say("read the preview in full"))
	add(c.May.Answer && filter, "/", w.Say("find an option in a long list"))
	add(true, "j k", w.Say("next and previous ask"))
	return keys
}
