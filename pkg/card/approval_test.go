package card_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/google/go-cmp/cmp"
)

// deployment is an ask that takes two of platform and one of security.
func deployment() ask.Ask {
	return ask.Ask{
		Questions: []ask.Question{{ID: "go", Text: "Deploy build 42?", Kind: ask.KindBoolean}}, ExcludeAsker: true, Asker: []string{"os:tom"},
		Approval: &ask.Approval{Fresh: time.Hour, AnyOf: []ask.Alternative{{
			AllOf:  []ask.Factor{{Need: 1, From: []string{"group:platform"}}, {Need: 1, From: []string{"group:security"}}},
			Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-",
		}}},
	}
}

func meiVotes(choice ask.Choice, ago time.Duration) ask.Vote {
	by := mei.By
	by.Responder, by.Groups = "slack", []string{"platform"}
	return ask.Vote{AnswerID: "v1", By: by, Choice: choice, Reason: "OPS-17\u202e", At: now.Add(-ago)}
}

func TestHowTheVotesStand(t *testing.T) {
	t.Parallel()
	const each = "Each answer is one person's vote. You can change yours, or take it back, until the votes decide."
	const needs = "A vote to approve needs a reason: the ticket"
	none := "0 of 2 approvals; 1 more needed from group platform; 1 more needed from group security"
	one := "1 of 2 approvals: Mei; 1 more needed from group security"
	vote := func(who, said, ago, void string, own bool) card.Vote {
		return card.Vote{Who: who, Said: said, At: card.Moment{Words: ago, Style: card.Ago}, Reason: "OPS-17", Void: void, Own: own}
	}
	revoked := meiVotes(ask.ChoiceRevoked, 3*time.Minute)
	revoked.Revoked = ask.RevokedSignIn
	jo := card.Viewer{By: ask.By{Principal: "os:jo", Name: "Jo", Groups: []string{"security"}}}
	for name, c := range map[string]struct {
		viewer card.Viewer
		votes  []ask.Vote
		want   card.Approval
	}{
		"nobody has voted": {mei, nil, card.Approval{
			Progress: none, Count: "0 of 2 approvals", Lacks: []string{"1 more needed from group platform", "1 more needed from group security"}, HowTo: each, Reason: needs, Send: "Vote", Note: "Reason",
		}},
		"somebody else has": {jo, []ask.Vote{meiVotes(ask.ChoiceApprove, 3*time.Minute)}, card.Approval{
			Progress: one, Count: "1 of 2 approvals", Lacks: []string{"1 more needed from group security"}, Votes: []card.Vote{vote("Mei on Slack", "approved", "3 min ago", "", false)},
			HowTo: each, Reason: needs, Send: "Vote", Note: "Reason",
		}},
		"you have": {mei, []ask.Vote{meiVotes(ask.ChoiceApprove, 3*time.Minute)}, card.Approval{
			Progress: one, Count: "1 of 2 approvals", Lacks: []string{"1 more needed from group security"}, Votes: []card.Vote{vote("you on Slack", "approved", "3 min ago", "", true)},
			HowTo: "You have voted. Another answer changes your vote.", Reason: needs, Send: "Change the vote", Note: "Reason", TakeBack: "Take the vote back",
		}},
		"it was revoked": {jo, []ask.Vote{revoked}, card.Approval{
			Progress: none, Count: "0 of 2 approvals", Lacks: []string{"1 more needed from group platform", "1 more needed from group security"},
			Votes: []card.Vote{vote("Mei on Slack", "had a vote, which was revoked: the sign-ins were ended", "3 min ago", "", false)}, HowTo: each, Reason: needs, Send: "Vote", Note: "Reason",
		}},
		"you took it back": {mei, []ask.Vote{meiVotes(ask.ChoiceWithdrawn, 3*time.Minute)}, card.Approval{
			Progress: none, Count: "0 of 2 approvals", Lacks: []string{"1 more needed from group platform", "1 more needed from group security"},
			Votes: []card.Vote{vote("you on Slack", "took the vote back", "3 min ago", "", true)}, HowTo: each, Reason: needs, Send: "Vote", Note: "Reason",
		}},
		"a vote is too old": {jo, []ask.Vote{meiVotes(ask.ChoiceApprove, 2*time.Hour)}, card.Approval{
			Progress: none, Count: "0 of 2 approvals", Lacks: []string{"1 more needed from group platform", "1 more needed from group security"},
			Votes: []card.Vote{vote("Mei on Slack", "approved", "2 h ago", "too old to count", false)}, HowTo: each, Reason: needs, Send: "Vote", Note: "Reason",
		}},
		"the asker only looks": {tom, []ask.Vote{meiVotes(ask.ChoiceApprove, 3*time.Minute)}, card.Approval{
			Progress: one, Count: "1 of 2 approvals", Lacks: []string{"1 more needed from group security"}, Votes: []card.Vote{vote("Mei on Slack", "approved", "3 min ago", "", false)},
		}},
		"in a channel": {card.Viewer{Shared: true}, []ask.Vote{meiVotes(ask.ChoiceApprove, 3*time.Minute)}, card.Approval{
			Progress: one, Count: "1 of 2 approvals", Lacks: []string{"1 more needed from group security"}, Votes: []card.Vote{vote("Mei on Slack", "approved", "3 min ago", "", false)},
			HowTo: each, Reason: needs, Send: "Vote", Note: "Reason", TakeBack: "Take the vote back",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(deployment())
			r.Votes = c.votes
			got := *card.New(r, c.viewer, now).Approval
			for i := range got.Votes {
				got.Votes[i].At.At = time.Time{}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheTextOfACardHasItsVotes(t *testing.T) {
	t.Parallel()
	r := record(deployment())
	r.Votes = []ask.Vote{meiVotes(ask.ChoiceApprove, 3*time.Minute)}
	c := card.New(r, mei, now)
	const want = "1 of 2 approvals: Mei; 1 more needed from group security\n- you on Slack approved, 3 min ago: OPS-17\n" +
		"You have voted. Another answer changes your vote. A vote to approve needs a reason: the ticket"
	if !strings.Contains(c.Text(), want) {
		t.Errorf("text:\n%s\nwant:\n%s", c.Text(), want)
	}
	if row := card.NewRow(r, mei, now); row.Votes != "1 of 2 approvals" {
		t.Errorf("row: %q", row.Votes)
	}
	var keys []string
	for _, k := range c.Keys() {
		keys = append(keys, k.Key+" "+k.Words)
	}
	if got := strings.Join(keys, ", "); !strings.Contains(got, "n add a reason") || !strings.Contains(got, "z take the vote back") {
		t.Errorf("keys: %s", got)
	}
	r.Votes = nil
	zh := mei
	zh.Lang = "zh-CN"
	expired := ended(r, ask.Outcome{Status: ask.StatusExpired, Votes: []ask.Vote{meiVotes(ask.ChoiceApprove, 3*time.Minute)}})
	if e := card.New(expired, zh, now).End; e.Summary != "票数不足：1/2 票批准：Mei；还差 1 票（组 security）" || !strings.HasSuffix(e.Summary, "："+e.Sentence[strings.Index(e.Sentence, "1/2"):]) {
		t.Errorf("expired: %q, %q", e.Summary, e.Sentence)
	}
	if words := mei.Late(r, expired.Outcome, now); words != "Too late: Expired at 10:02 UTC: not enough votes: 1 of 2 approvals: Mei; 1 more needed from group security." {
		t.Errorf("late: %q", words)
	}
}
