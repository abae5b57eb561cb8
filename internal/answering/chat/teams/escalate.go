package teams

import (
	"cmp"
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Escalate tells people of the steps of a ladder: it posts to the conversations of the cards, in a channel to their
// threads, and where the routes of these people are.
func (p presenter) Escalate(ctx context.Context, post responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error) {
	return nil, p.Surface.Escalate(ctx, &rec, steps, places, func(err error) bool { return gone(err) || hopeless(err) }, func(c chat.StepNotice) error {
		at, ok := parsePlace(c.Ref)
		if !ok {
			var err error
			if at, err = p.where(ctx, c.To); err != nil {
				return err
			}
		}
		s := newSheet()
		s.Fallback = inert.Replace(clip(c.Words, 400))
		s.Body = []element{line("", bold("🚨 "+clip(c.Words, 400)))}
		if names := s.mention(p.mentioned(ctx, c.Mention, at)); names != "" {
			s.Body = append(s.Body, element{Type: "TextBlock", Text: names, Wrap: true, Spacing: "Small"})
		}
		if post.Link != "" {
			s.Actions = []action{open(p.Speaks("", &rec.Ask).Say("Open in browser"), post.Link)}
		}
		m := carrying(s)
		m.Summary = cmp.Or(s.Fallback, "askbus")
		m.Importance, m.ChannelData = "high", map[string]any{"notification": map[string]bool{"alert": true}}
		_, err := p.api.send(ctx, at, !ok && isChannel(at.Conversation), c.Rank, m)
		return err
	})
}
