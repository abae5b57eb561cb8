package card

import (
	"cmp"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Approval says how far the votes on an ask have come that several people decide, as one person
// sees it. Every surface shows these words. An answer votes, another answer of the same person moves
// the vote, and the control named TakeBack takes it back.
type Approval struct {
	// Progress is one sentence, the same for everybody: "1 of 2 approvals: Mei; 1 more needed from
	// group sre". Count is its beginning, "1 of 2 approvals", for a row or a chip, and Lacks its end, a
	// phrase for each thing that is missing. All are empty when the ask has ended.
	Progress string
	Count    string
	Lacks    []string
	Votes    []Vote // what people said, oldest first, also when the ask has ended
	// HowTo says what an answer does: that it is a vote, or moves the viewer's vote. Empty if the viewer
	// may not vote.
	HowTo    string
	Reason   string // that a vote to approve needs a reason, and which; the note of the answer is the reason. Empty: it needs none
	Send     string // label of the control that votes: "Vote", or "Change the vote"
	Note     string // label of the field of the reason: "Reason"
	TakeBack string // label of the control that takes the viewer's vote back; empty: there is none to take back
}

// Vote is what one person said to an ask with an approval.
type Vote struct {
	Who    string // "Mei on Slack", or "you on Slack"
	Said   string // "approved", or "approved: PostgreSQL"
	At     Moment
	Reason string // may be empty
	Files  []File // shown with the vote
	Void   string // why the vote no longer counts; empty: it does
	Own    bool   // of the person who looks at the card
}

// Text returns the vote in one line: "Mei on Slack approved, 3 min ago: OPS-17".
func (v *Vote) Text(tag string) string {
	w := lang.Of(tag)
	said := w.Say("%[1]s %[2]s, %[3]s|who, voted how, when", v.Who, v.Said, v.At.Words)
	if v.Void != "" {
		said += w.Say(" (%s)", v.Void)
	}
	if v.Reason != "" {
		said += w.Say(": ") + v.Reason
	}
	return said
}

// newApproval returns how the votes stand, or nil for an ask without an approval.
func newApproval(r *ask.Record, v Viewer, may bool, now time.Time) *Approval {
	p, w := r.Ask.Approval, v.words()
	if p == nil {
		return nil
	}
	ended := r.State == ask.StateResolved || r.Outcome != nil
	cast := r.Votes
	if r.Outcome != nil {
		cast = r.Outcome.Votes
	}
	c := &Approval{}
	standing, own := false, false
	for i := range cast {
		one := newVote(r, &cast[i], v, now)
		if !ended && p.Fresh > 0 && now.Sub(cast[i].At) > p.Fresh && cast[i].Stands() {
			one.Void = w.Say("too old to count")
		}
		c.Votes = append(c.Votes, one)
		if cast[i].Stands() {
			standing, own = true, own || one.Own
		}
	}
	if ended {
		return c
	}
	t := r.Ask.Tally(r.Votes, now)
	c.Progress, c.Count, c.Lacks = line(t.Words(w.Tag)), t.Count(w.Tag), t.Lacks(w.Tag)
	if own || v.Shared && standing { // also somebody who may no longer vote
		c.TakeBack = w.Say("Take the vote back")
	}
	if !may {
		return c
	}
	by := &v.By
	if v.Shared {
		by = nil
	}
	if prompt, needed := p.NeedsReason(by); needed {
		c.Reason = w.Say("A vote to approve needs a reason.")
		if prompt = line(prompt); prompt != "" {
			c.Reason = w.Say("A vote to approve needs a reason: %s", prompt)
		}
	}
	c.Note, c.Send, c.HowTo = w.Say("Reason"), w.Say("Vote"), w.Say("Each answer is one person's vote. You can change yours, or take it back, until the votes decide.")
	if own {
		c.Send, c.HowTo = w.Say("Change the vote"), w.Say("You have voted. Another answer changes your vote.")
	}
	return c
}

func newVote(r *ask.Record, one *ask.Vote, v Viewer, now time.Time) Vote {
	w := v.words()
	said := map[ask.Choice]string{ask.ChoiceApprove: w.Say("approved"), ask.ChoiceDeny: w.Say("denied"), ask.ChoiceWithdrawn: w.Say("took the vote back"), ask.ChoiceRevoked: w.Say("had a vote, which was revoked")}[one.Choice]
	why := map[string]string{
		ask.RevokedCredential: w.Say("the credential that it was given with was revoked"), ask.RevokedToken: w.Say("its API token was revoked or has expired"),
		ask.RevokedSignIn: w.Say("the sign-ins were ended"), ask.RevokedPerson: w.Say("the list of people does not allow it any more"),
	}[one.Revoked]
	switch {
	case one.Choice == ask.ChoiceRevoked && why != "":
		said += w.Say(": ") + why
	case one.Declined:
		said = w.Say("declined")
	case one.Option != "" && len(r.Ask.Questions) == 1:
		if o := r.Ask.Questions[0].Option(one.Option); o != nil {
			label, _ := o.Caption()
			said += w.Say(": ") + line(label)
		}
	}
	own := v.By.Principal != "" && (r.Ask.Voter(one.By.Principal) == r.Ask.Voter(v.By.Principal) || v.is(&one.By))
	by := one.By
	by.Name = line(cmp.Or(by.Name, by.Principal))
	you := ""
	if own {
		you = by.Principal
	}
	return Vote{Who: line(actor(w, by, you)), Said: said, At: v.When(one.At, now, Ago), Reason: line(one.Reason), Files: newFiles(r.Ask.Key(), one.Files), Own: own}
}

// Unreasoned returns p.Reason if the reply is a vote that counts only with a reason, and has none.
func (p *Approval) Unreasoned(a *ask.Ask, r *ask.Reply) string {
	if p == nil || len(r.Answers) != 1 || r.Answers[0].Notes != "" || !a.Approves(&r.Answers[0]) {
		return ""
	}
	return p.Reason
}

// Text returns how far the votes have come, and who said what.
func (p *Approval) Text(lang string) string {
	var lines []string
	add := func(s string) {
		if s != "" {
			lines = append(lines, s)
		}
	}
	add(p.Progress)
	for i := range p.Votes {
		add("- " + p.Votes[i].Text(lang))
	}
	add(strings.TrimSpace(p.HowTo + " " + p.Reason))
	return strings.Join(lines, "\n")
}
