package teams

import (
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Escalate tells people of the steps of a ladder, in a channel in the threads of the cards.
func (p presenter) Escalate(ctx context.Context, post responder.Post, rec ask.Record, steps []ask.Step, places []ask.Place) ([]ask.Place, error) {
	return nil, p.Surface.Escalate(ctx, &post, &rec, steps, places, func(err error) bool { return gone(err) || hopeless(err) }, func(ctx context.Context, n *chat.Note) error {
		n.To.Language = p.Language(&rec.Ask).Tag
		return p.Note(ctx, n)
	})
}

// Note posts a note as a card.
func (p presenter) Note(ctx context.Context, n *chat.Note) (err error) {
	at, reply := parsePlace(n.Ref)
	if !reply {
		if at, err = p.where(ctx, n.To); err != nil {
			return err
		}
	}
	s := newSheet()
	s.Fallback = inert.Replace(n.Lines[0])
	for i, one := range n.Lines {
		switch {
		case n.Step:
			s.Body = append(s.Body, line("", bold("🚨 "+one)))
		case i == 0:
			s.Body = append(s.Body, line("", bold(one)))
		default:
			s.Body = append(s.Body, line("None", literal(one)))
		}
	}
	if names := s.mention(p.mentioned(ctx, n.Mention, at)); names != "" {
		s.Body = append(s.Body, element{Type: "TextBlock", Text: names, Wrap: true, Spacing: "Small"})
	}
	if n.Link != "" {
		s.Actions = []action{open(p.Speaks(n.To.Language, nil).Say("Open in browser"), n.Link)}
	}
	m := carrying(s)
	if m.Summary = s.Fallback; n.Step {
		m.Importance, m.ChannelData = "high", map[string]any{"notification": map[string]bool{"alert": true}}
	}
	_, err = p.api.send(ctx, at, !reply && isChannel(at.Conversation), n.Rank, m)
	return err
}
