package prompt

import (
	"context"
	"strings"
)

// breakGlass notes the reason with which the next answer decides the ask alone.
func (d *dialog) breakGlass(ctx context.Context, reason string) error {
	b := d.card.BreakGlass
	if b == nil {
		d.say("You have no break-glass role for this ask.")
		return nil
	}
	if reason == "" {
		d.print(b.HowTo + " " + b.Reason)
		typed, err := d.read(ctx)
		if err != nil {
			return err
		}
		if reason = strings.TrimSpace(typed); reason == "/quit" || reason == "/back" {
			return nil
		}
	}
	why, wrong := b.Check(reason)
	if wrong != "" {
		d.print(wrong)
		return nil
	}
	d.alone = why
	d.say("Your next answer decides this alone, after you have confirmed it.")
	return nil
}

// sureAlone asks again for a decision that one person makes alone.
func (d *dialog) sureAlone(ctx context.Context, one Decision) (bool, error) {
	said := ""
	if lines := d.draft.Review(); len(lines) == 1 {
		said = lines[0].Answer
	}
	d.say("You decide this alone, whatever the votes: “%[1]s”, because: %[2]s. Type confirm to do it; anything else goes back.", said, one.Reply.BreakGlass.Reason)
	typed, err := d.read(ctx)
	return strings.EqualFold(strings.TrimSpace(typed), "confirm"), err
}
