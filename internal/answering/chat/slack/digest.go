package slack

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	slackapi "github.com/slack-go/slack"
)

// Private writes words and a link to a person in their direct message with the app.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	channel, err := s.channel(ctx, Target{Person: person})
	if err != nil {
		return err
	}
	text := escape(words) + "\n<" + escapeLink(link) + ">"
	_, err = s.api.post(ctx, s.Now(), channel, "", false, content{Text: text, Blocks: []slackapi.Block{slackapi.NewSectionBlock(mrkdwn(text, maxSection), nil, nil)}}, nil)
	return err
}

// Digest posts a digest as plain text.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	channel, err := p.channel(ctx, d.To)
	if err != nil {
		return err
	}
	lines := d.Lines("")
	c := textCard(strings.Join(lines, "\n"))
	c.Text = literal(lines[0], 300) // of the notification
	_, err = p.api.post(ctx, p.Now(), channel, "", false, c, nil)
	return err
}
