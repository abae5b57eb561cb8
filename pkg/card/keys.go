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
	add(c.May.Answer && options, "1–9 0", w.keyChoose)
	add(c.May.Answer && other, "o", w.keyOther)
	add(c.May.Answer && !typed, "Enter", w.keySend)
	add(c.May.Answer && typed, "Ctrl+Enter", w.keySend)
	add(c.May.Answer && c.Approval == nil, "n", w.keyNote)
	add(c.May.Answer && c.Approval != nil, "n", w.keyReason)
	add(c.May.Answer && c.Approval == nil, "r", w.keyReply)
	add(c.May.Decline, "x", w.keyDecline)
	add(c.BreakGlass != nil, "B", w.Say("decide alone (break-glass)"))
	if c.Approval != nil {
		add(c.Approval.TakeBack != "", "z", w.keyTakeBack)
	}
	add(c.Context != nil, "c", w.keyContext)
	add(previews, "p", w.keyPreview)
	add(c.May.Answer && filter, "/", w.keyFind)
	add(true, "j k", w.keyMove)
	return keys
}
