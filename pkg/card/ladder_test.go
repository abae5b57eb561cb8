package card_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

func TestTheLadderOnACard(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	rec := ask.Record{State: ask.StatePending, AskedAt: asked, Ask: ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Deadline: asked.Add(2 * time.Hour), Questions: []ask.Question{{ID: "q1", Text: "Deploy?", Kind: ask.KindBoolean}}}}
	now := asked.Add(16 * time.Minute)
	if c := card.New(&rec, card.Viewer{}, now); c.Ladder != nil {
		t.Errorf("without a ladder: %+v", c.Ladder)
	}
	rec.Ask.Escalate = []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"group:oncall"}}, {After: 10 * time.Minute, Tell: []string{"schedule:sre"}}}
	rec.Escalated = &ask.Escalated{Steps: []ask.Step{{N: 1, At: asked.Add(13 * time.Minute), Tell: []string{"group:oncall"}}}}
	for name, c := range map[string]struct {
		v    card.Viewer
		want string
	}{
		"to one":       {card.Viewer{}, "told group oncall 3 min ago · next: schedule sre in 7 min"},
		"in Chinese":   {card.Viewer{Lang: "zh"}, "已通知组 oncall： 3 分钟前 · 下一步通知值班表 sre： 7 分钟后"},
		"to all of it": {card.Viewer{Shared: true}, "told group oncall 10:13 UTC · next: schedule sre, 10:23 UTC"},
	} {
		if got := card.New(&rec, c.v, now).Ladder.Text(); got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
	rec.Escalated.Seen = []ask.Seen{{N: 2, By: ask.By{Principal: "os:mei", Name: "Mei"}}}
	if got := card.New(&rec, card.Viewer{}, now).Ladder.Text(); got != "told group oncall 3 min ago · next: schedule sre in 17 min · waiting, because Mei is looking at it" {
		t.Error(got)
	}
	rec.Escalated.Steps = append(rec.Escalated.Steps, ask.Step{N: 2, At: now, Tell: []string{"os:<b>"}})
	if got := card.New(&rec, card.Viewer{}, now).Ladder; got.Next != "" || got.Text() != "told os:<b> just now" {
		t.Errorf("at its end: %+v", got)
	}
}

func TestAStepInOtherOpenHours(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3600)
	friday := time.Date(2026, 11, 27, 9, 0, 0, 0, berlin)
	span := func(days int) ask.Span {
		return ask.Span{From: friday.AddDate(0, 0, days), To: friday.AddDate(0, 0, days).Add(8 * time.Hour)}
	}
	rec := ask.Record{State: ask.StatePending, AskedAt: friday.Add(7*time.Hour + 30*time.Minute), Ask: ask.Ask{
		ID: "a1", Deadline: friday.AddDate(0, 0, 20), Questions: []ask.Question{{ID: "q1", Text: "Deploy?", Kind: ask.KindBoolean}},
		Escalate: []ask.Escalation{{After: time.Hour, Tell: []string{"group:oncall"}}}, OpenHours: &ask.OpenHours{Name: "office", Spans: []ask.Span{span(0), span(3), span(11)}},
	}}
	for name, c := range map[string]struct {
		v    card.Viewer
		now  time.Time
		want string
	}{
		"before the weekend":     {card.Viewer{}, friday.Add(7*time.Hour + 45*time.Minute), "next: group oncall, Mon 09:30 UTC+01:00"},
		"in the viewer's zone":   {card.Viewer{Zone: time.FixedZone("", -5*3600)}, friday.Add(8 * time.Hour), "next: group oncall, Mon 03:30"},
		"in Chinese, in a chat":  {card.Viewer{Lang: "zh", Shared: true}, friday.Add(24 * time.Hour), "下一步通知组 oncall： 周一 09:30 UTC+01:00"},
		"in these open hours":    {card.Viewer{}, friday.AddDate(0, 0, 3).Add(10 * time.Minute), "next: group oncall in 20 min"},
		"missed, and closed now": {card.Viewer{}, friday.AddDate(0, 0, 3).Add(9 * time.Hour), "next: group oncall, 8 Dec 09:00 UTC+01:00"},
		"missed for good":        {card.Viewer{}, friday.AddDate(0, 0, 12), ""},
		"missed, and open again": {card.Viewer{}, friday.AddDate(0, 0, 11).Add(time.Minute), "next: group oncall now"},
	} {
		if got := card.New(&rec, c.v, c.now).Ladder.Text(); got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}
