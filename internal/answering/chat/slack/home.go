package slack

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sort"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// maxListed is how many pending asks a Home tab shows.
const maxListed = 20

// command is a slash command.
type command struct{ User, Name, Team string }

// commanded answers /askbus with an ephemeral list of the asks that wait for this person.
func (s *App) commanded(ctx context.Context, c command, proof string) any {
	s.meet(ctx, c.User)
	l := s.speaks(c.User, nil)
	blocks, err := s.waiting(ctx, l, actor{User: c.User, Name: c.Name, Team: c.Team, Proof: proof})
	if err != nil {
		return map[string]any{"response_type": "ephemeral", "text": l.Say("askbus cannot be reached; please try again in a moment.")}
	}
	return map[string]any{"response_type": "ephemeral", "text": l.Say("Asks that wait for you"), "blocks": fitBlocks(blocks, maxBlocks, maxBlocksBytes)}
}

// home renders a user's Home tab.
func (s *App) home(ctx context.Context, who actor) {
	s.meet(ctx, who.User)
	l := s.speaks(who.User, nil)
	blocks, err := s.waiting(ctx, l, who)
	if err != nil {
		s.Log.WarnContext(ctx, "cannot read the pending asks", slog.String("error", err.Error()))
		blocks = []slackapi.Block{slackapi.NewSectionBlock(plain(l.Say("askbus cannot be reached; open this tab again in a moment."), maxSection), nil, nil)}
	}
	if err := s.api.publish(ctx, who.User, blocks); err != nil {
		s.Log.WarnContext(ctx, "cannot publish a Home tab", slog.String("error", err.Error()))
	}
}

// waiting lists the asks that this person may answer, the most urgent first.
func (s *App) waiting(ctx context.Context, l *lang.Language, who actor) ([]slackapi.Block, error) {
	page, err := s.Bus.List(ctx, responder.Query{State: ask.StatePending, PageSize: 200})
	if err != nil {
		return nil, err
	}
	away, err := s.Bus.StandIns(ctx)
	if err != nil {
		return nil, err
	}
	var mine []ask.Record
	for i := range page.Items {
		by, refused := s.by(ctx, who, &page.Items[i].Ask)
		if refused != "" {
			continue
		}
		if _, may := page.Items[i].Ask.As(by, away, s.Clock.Now()); may {
			mine = append(mine, page.Items[i])
		}
	}
	sort.SliceStable(mine, func(i, j int) bool { return urgency(&mine[i].Ask) > urgency(&mine[j].Ask) })
	title := l.Say("Nothing waits for you.")
	switch n := len(mine); {
	case n == 1:
		title = l.Say("One question waits for you.")
	case n > 1 && page.Next != "":
		title = l.Say("More than %d questions wait for you.", n)
	case n > 1:
		title = l.Say("%d questions wait for you.", n)
	}
	blocks := []slackapi.Block{slackapi.NewHeaderBlock(plain(title, 150))}
	for i := range mine[:min(len(mine), maxListed)] {
		blocks = append(blocks, s.row(l, &mine[i])...)
	}
	return blocks, nil
}

func urgency(a *ask.Ask) int {
	return slices.Index([]ask.Priority{ask.PriorityLow, ask.PriorityNormal, ask.PriorityHigh, ask.PriorityUrgent}, cmp.Or(a.Priority, ask.PriorityNormal))
}

// row renders a pending ask, with the button that opens its card.
func (s *App) row(l *lang.Language, rec *ask.Record) []slackapi.Block {
	a := s.askedIn(l, rec, s.LinkTo(rec.Ask.Key()))
	t := chat.Ref{Key: rec.Ask.Key(), Life: rec.Life}
	section := slackapi.NewSectionBlock(plain(card.Heading(&rec.Ask), 300), nil, nil)
	if canModal(a.Card) {
		section.Accessory = slackapi.NewAccessory(button(actionAnswer, l.Say("Answer…"), t.String()))
	} else if a.Link != "" {
		open := button(actionOpen, l.Say("Open in browser"), "")
		open.URL = a.Link
		section.Accessory = slackapi.NewAccessory(open)
	}
	return []slackapi.Block{section, slackapi.NewContextBlock("", mrkdwn(headline(a), 2000))}
}
