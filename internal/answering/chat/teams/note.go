package teams

import (
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Note posts a note as a card.
func (s *App) Note(ctx context.Context, n *chat.Note) (err error) {
	at, reply := parsePlace(n.Ref)
	if !reply {
		if at, err = s.where(ctx, n.To); err != nil {
			return err
		}
	}
	made := newSheet()
	made.Fallback = inert.Replace(n.Lines[0])
	for i, one := range n.Lines {
		switch {
		case n.Step:
			made.Body = append(made.Body, line("", bold("🚨 "+one)))
		case i == 0:
			made.Body = append(made.Body, line("", bold(one)))
		default:
			made.Body = append(made.Body, line("None", literal(one)))
		}
	}
	if names := made.mention(s.mentioned(ctx, n.Mention, at)); names != "" {
		made.Body = append(made.Body, element{Type: "TextBlock", Text: names, Wrap: true, Spacing: "Small"})
	}
	if n.Link != "" {
		made.Actions = []action{open(s.Speaks(n.To.Language, nil).Say("Open in browser"), n.Link)}
	}
	m := carrying(made)
	if m.Summary = made.Fallback; n.Step {
		m.Importance, m.ChannelData = "high", map[string]any{"notification": map[string]bool{"alert": true}}
	}
	_, err = s.api.send(ctx, at, !reply && isChannel(at.Conversation), n.Rank, m)
	return err
}
