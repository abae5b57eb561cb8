package card_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// TestOneSentenceForOneEvent is the table of the events and their sentences. What surfaces show is compared with
// these in [respondertest].
func TestOneSentenceForOneEvent(t *testing.T) {
	t.Parallel()
	r := record(ask.Ask{Questions: []ask.Question{database()}})
	four := record(kinds()["four"])
	voted := record(ask.Ask{
		Questions: []ask.Question{{ID: "go", Kind: ask.KindChoice, Text: "Migrate?", NoOther: true, Options: []ask.Option{{ID: "yes", Label: "Migrate"}, {ID: "no", Label: "Wait"}}}},
		Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 1, From: []string{"os:mei"}}}, ApproveOptions: []string{"yes"}},
	})
	pg := []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}
	mine := mei.By
	mine.Responder = "web"
	instead := ask.By{Principal: "os:jo", Name: "Jo", Responder: "teams"}.Standing(ask.By{Principal: "os:mei", Name: "Mei"})
	for name, c := range map[string]struct {
		of     *ask.Record
		o      ask.Outcome
		en, zh string // the sentence for Mei
		brief  string // in English, without time and place
	}{
		"chosen":             {r, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ana, Answers: pg}, "Ana chose PostgreSQL at 10:02 UTC on Slack", "Ana 选择了 PostgreSQL（10:02 UTC，Slack）", "Ana chose PostgreSQL"},
		"chosen by you":      {r, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &mine, Answers: pg}, "You chose PostgreSQL at 10:02 UTC on the web", "你选择了 PostgreSQL（10:02 UTC，网页）", "You chose PostgreSQL"},
		"by a stand-in":      {r, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &instead, Answers: pg}, "Jo for Mei chose PostgreSQL at 10:02 UTC in Teams", "Jo（代 Mei）选择了 PostgreSQL（10:02 UTC，Teams）", "Jo for Mei chose PostgreSQL"},
		"in their own words": {r, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ana, Response: "Ask Tom"}, "Ana answered “Ask Tom” at 10:02 UTC on Slack", "Ana 回答了“Ask Tom”（10:02 UTC，Slack）", "Ana answered “Ask Tom”"},
		"several questions":  {four, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ana, Answers: pg}, "Ana answered at 10:02 UTC on Slack", "Ana 已回答（10:02 UTC，Slack）", "Ana answered"},
		"by a policy":        {r, ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourcePolicy, Answers: pg}, "A policy, not a person, answered PostgreSQL at 10:02 UTC", "由策略回答，并非由人作答：PostgreSQL（10:02 UTC）", "A policy, not a person, answered PostgreSQL"},
		"by votes":           {voted, ask.Outcome{Status: ask.StatusAnswered, Votes: []ask.Vote{{By: mei.By, Choice: ask.ChoiceApprove, Option: "yes"}}, Answers: []ask.Answer{{QuestionID: "go", Selected: []string{"yes"}}}}, "Approved by Mei at 10:02 UTC: Migrate", "已由 Mei 批准（10:02 UTC）：Migrate", "Approved by Mei: Migrate"},
		"too few votes":      {voted, ask.Outcome{Status: ask.StatusExpired}, "Expired at 10:02 UTC: not enough votes: 0 of 1 approvals; 1 more needed from os:mei", "已过期（10:02 UTC）：票数不足：0/1 票批准；还差 1 票（os:mei）", "Expired: not enough votes: 0 of 1 approvals; 1 more needed from os:mei"},
		"declined":           {r, ask.Outcome{Status: ask.StatusCancelled, By: &ana, Reason: "too risky"}, "Ana declined at 10:02 UTC on Slack: too risky", "Ana 拒绝回答（10:02 UTC，Slack）：too risky", "Ana declined: too risky"},
		"ended by an option": {r, ask.Outcome{Status: ask.StatusCancelled, By: &ana, CancelledBy: &ask.CancelledBy{QuestionID: "db", OptionID: "stop"}}, "Ana ended it with “Neither” at 10:02 UTC on Slack", "Ana 以“Neither”结束了提问（10:02 UTC，Slack）", "Ana ended it with “Neither”"},
		"withdrawn":          {r, ask.Outcome{Status: ask.StatusWithdrawn, Reason: "found it"}, "Withdrawn by the agent at 10:02 UTC: found it", "智能体已撤回（10:02 UTC）：found it", "Withdrawn by the agent: found it"},
		"withdrawn, operator": {
			r,
			ask.Outcome{Status: ask.StatusAborted, Reason: "the runner is gone"},
			"Withdrawn by an operator at 10:02 UTC: the runner is gone",
			"管理员已撤回（10:02 UTC）：the runner is gone", "Withdrawn by an operator: the runner is gone",
		},
		"nobody waits": {r, ask.Outcome{Status: ask.StatusWithdrawn, Reason: ask.ReasonGaveUp}, "Withdrawn at 10:02 UTC: the agent no longer waits", "已撤回（10:02 UTC）：智能体不再等待", "Withdrawn: the agent no longer waits"},
		"expired":      {r, ask.Outcome{Status: ask.StatusExpired}, "Expired at 10:02 UTC: nobody answered in time", "已过期（10:02 UTC）：无人及时回答", "Expired: nobody answered in time"},
		"default": {
			r,
			ask.Outcome{Status: ask.StatusExpired, Source: ask.SourceDefault, Answers: pg},
			"Expired at 10:02 UTC: nobody answered in time; the declared default holds, not a person's answer: PostgreSQL",
			"已过期（10:02 UTC）：无人及时回答；采用声明的默认值，并非由人作答：PostgreSQL", "Expired: nobody answered in time; the declared default holds, not a person's answer: PostgreSQL",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zh := mei
			zh.Lang = "zh-CN"
			done := ended(c.of, c.o)
			if e := card.NewEnd(done, mei, now); e.Sentence != c.en || e.Brief != c.brief {
				t.Errorf("%q, in short %q", e.Sentence, e.Brief)
			}
			if e := card.NewEnd(done, zh, now); e.Sentence != c.zh {
				t.Errorf("%q", e.Sentence)
			}
			late := "Too late: " + c.en + "."
			if name == "chosen by you" {
				late = "Answered already: " + c.en + "."
			}
			if said := mei.Late(c.of, done.Outcome, now); said != late {
				t.Errorf("too late: %q", said)
			}
		})
	}
}

func TestSentencesOfVotesAndMoves(t *testing.T) {
	t.Parallel()
	zh := mei
	zh.Lang = "zh-CN"
	r := record(ask.Ask{
		Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Migrate?"}},
		Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"os:mei", "os:jo"}}}},
	})
	votes := []ask.Vote{{By: mei.By, Choice: ask.ChoiceApprove, At: now}}
	again, moved := *r, *r
	again.Votes = []ask.Vote{{By: mei.By, Choice: ask.ChoiceApprove, At: now.Add(-time.Minute)}}
	moved.Votes = []ask.Vote{{By: mei.By, Choice: ask.ChoiceDeny, At: now.Add(-time.Minute)}}
	left := []ask.Vote{{By: mei.By, Choice: ask.ChoiceWithdrawn, At: now}}
	jo := ask.By{Principal: "os:jo", Name: "Jo"}
	for want, said := range map[string]string{
		"Your vote is stored; the question stays open: 1 of 2 approvals: Mei; 1 more needed from os:jo.":             mei.Voted(r, votes, now),
		"Your vote is changed; the question stays open: 1 of 2 approvals: Mei; 1 more needed from os:jo.":            mei.Voted(&moved, votes, now),
		"Your vote is the same as before; the question stays open: 1 of 2 approvals: Mei; 1 more needed from os:jo.": mei.Voted(&again, votes, now),
		"Your vote is taken back; the question stays open: 0 of 2 approvals; 2 more needed from os:mei or os:jo.":    mei.VoteTakenBack(&again, left, now),
		"已记录你的投票；提问仍然开放：1/2 票批准：Mei；还差 1 票（os:jo）。":                                                                  zh.Voted(r, votes, now),
		"你没有可撤回的投票。":                         zh.NoVote(),
		"You have no vote to take back.":     mei.NoVote(),
		"Handed to Jo by you: “you know it”": mei.HandedOver(jo, mei.By, "you know it"),
		"Handed to you by Jo":                mei.HandedOver(mei.By, jo, ""),
		"Jo 转交给你":                            zh.HandedOver(mei.By, jo, ""),
		"Snoozed, back in 15 min":            mei.Snoozed(now.Add(15*time.Minute), now),
	} {
		if said != want {
			t.Errorf("%q; want %q", said, want)
		}
	}
}

// TestNotMoved: why an ask was not snoozed or handed over, in the reader's language.
func TestNotMoved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e          *ask.Error
		to, en, zh string
	}{
		{&ask.Error{Code: ask.CodeInvalid, Faults: []ask.Fault{ask.NewFault("/to", ask.FaultEmptyGroup)}}, "group:", "Not handed over: “group:” is empty; write group: and the group's name.", "未转交：“group:”是空的；请写 group: 和组名。"},
		{&ask.Error{Code: ask.CodeInvalid, Faults: []ask.Fault{ask.NewFault("/until", ask.FaultEndsTooSoon)}}, "", "Not snoozed: this is too late: the ask ends soon; answer it, or hand it over.", "未推迟：太晚了：提问很快就结束；请回答，或转交他人。"},
		{ask.Refusal(ask.CodeQuota, ask.FaultManyOfYours, 1000), "", "Not done: you have 1000 of these, the maximum; take some back, or wait until some end.", "未完成：这样的你已有 1000 个，已达上限；请撤回一些，或等一些结束。"},
		{ask.Refuse(ask.CodeForbidden, "os:mei did not ask, and only the asker may decide this ask").At("/by/principal", ask.FaultNotTheAsker), "", "Not done: os:mei did not ask, and only the asker may decide this ask.", "未完成：必须是提问者的主体之一。"},
		{ask.Refuse(ask.CodeUnavailable, "try again"), "", "Not done: try again.", "未完成：try again。"},
	} {
		for tag, want := range map[string]string{"en": c.en, "zh-CN": c.zh} {
			if got := (card.Viewer{Lang: tag}).NotMoved(c.e, c.to); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}
