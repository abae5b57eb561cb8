// Package lifecycle decides what to do for one ask: what to write and what to
// reply, given the stored state and a command. [State] is the stored state of
// an ask, [Event] something that happened to it, and [Apply] combines both.
//
// It is pure: time is an argument, nothing is read or written. The states are
// few:
//
//	             Store                 Resolve (answer, cancel, withdraw,
//	(unknown) ---------> pending ------abort, expire)------> resolved
//	                      |   ^
//	                      '---' Rewrite (a vote that does not decide, a step of
//	                            the ladder, somebody who looks, an agent that leaves)
//
// Each answer to an ask with an approval is a vote; the one that completes a
// threshold is written as the outcome, never as a vote before it.
//
// Safety: a resolved ask never changes; a refused command writes nothing; a
// command that is carried out twice ends in the same reply, so a crash between
// a write and its reply is harmless. It leaves carrying out, and repeating
// after a lost race, to the broker; pkg/ask decides what a valid ask or answer
// is.
package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Overdue is how long after its deadline a pending ask counts as missed by the
// server's timer, so that the broker that reads it expires it.
const Overdue = 2 * time.Second

// Decide returns what to write and what to reply for one command. It is called
// again with the new state after every write and after every lost race. Errors
// are [*ask.Error] values for the sender of the command. The time is that of the
// ledger's clock; if it is zero, it is unknown and nothing ends by time.
func Decide(s State, c Command, now time.Time) (Effect, error) {
	if s.Pending() && now.After(s.Deadline.Add(Overdue)) {
		return Resolve{s.Will}, nil
	}
	stored := s.Ask
	if s.Pending() && s.OnCall != nil { // who is on call now decides, not who was when the ask was written
		s.Ask = s.Ask.OnDuty(s.OnCall)
	}
	switch c := c.(type) {
	case Ask:
		return decideAsk(&s, c)
	case Reply:
		return decideReply(&s, c, now)
	case Decline:
		return decideDecline(&s, c, now)
	case Unvote:
		return decideUnvote(&s, c, now)
	case Withdraw:
		return decideEnd(&s, ask.StatusWithdrawn, c.Reason, now)
	case Leave:
		if s.Pending() && s.Ask.WhileWaiting && s.Left.IsZero() {
			return Rewrite{Left{now.UTC()}}, nil
		}
		return Tell{}, nil
	case Abort:
		return decideEnd(&s, ask.StatusAborted, c.Reason, now)
	case Climb:
		return decideClimb(&s, now), nil
	case Relieve:
		if s.Pending() && s.Left.IsZero() && s.Ask != stored {
			return Rewrite{Relieved{s.Ask}}, nil
		}
		return Tell{}, nil
	case Attend:
		return decideAttend(&s, c, now)
	case Remind:
		return decideRemind(&s, c, now), nil
	case Look:
		if !s.Known() {
			return nil, notFound()
		}
		return Tell{}, nil
	}
	panic(fmt.Sprintf("lifecycle: unknown command %T", c))
}

func decideAsk(s *State, c Ask) (Effect, error) {
	if !s.Known() {
		return Store(c), nil
	}
	if len(c.State.Digests) != 1 || !s.asked(c.State.Digests[0]) {
		return nil, ask.Refuse(ask.CodeIDReused,
			"ask id %q is in use for another question; give this one an id of its own", c.State.Ask.ID)
	}
	return Tell{}, nil
}

func decideReply(s *State, c Reply, now time.Time) (Effect, error) {
	if c.Reply.BreakGlass != nil {
		return decideBreakGlass(s, c, now)
	}
	if e, err := decided(s, c.Reply, c.MinProof); e != nil || err != nil {
		return e, err
	}
	if s.Voting() {
		v, err := s.Ask.VoteOf(c.Reply)
		if err != nil {
			return nil, err
		}
		v.Credential, v.Token, v.By = c.Credential, c.Token, s.Ask.WithOnCall(v.By, s.OnCall)
		return decideVote(s, v, now)
	}
	answers, cancelled, err := s.Ask.Check(c.Reply)
	if err != nil {
		return nil, err
	}
	o := end(s, ask.StatusAnswered, now)
	c.Reply.By = s.Ask.WithOnCall(c.Reply.By, s.OnCall)
	o.AnswerID, o.By, o.Answers, o.Response, o.Source = c.Reply.AnswerID, &c.Reply.By, answers, c.Reply.Response, ask.SourceHuman
	if cancelled != nil {
		o.Status, o.CancelledBy, o.Source = ask.StatusCancelled, cancelled, ""
		for _, ans := range c.Reply.Answers {
			if ans.QuestionID == cancelled.QuestionID {
				o.Reason = ans.Notes // the person's note is the reason
			}
		}
	}
	return Resolve{o}, nil
}

func decideDecline(s *State, c Decline, now time.Time) (Effect, error) {
	if e, err := decided(s, c.Reply, c.MinProof); e != nil || err != nil {
		return e, err
	}
	if s.Voting() {
		v, err := s.Ask.DeclineOf(c.Reply, c.Reason)
		if err != nil {
			return nil, err
		}
		v.Credential, v.Token, v.By = c.Credential, c.Token, s.Ask.WithOnCall(v.By, s.OnCall)
		return decideVote(s, v, now)
	}
	c.Reply.By = s.Ask.WithOnCall(c.Reply.By, s.OnCall)
	o := end(s, ask.StatusCancelled, now)
	o.AnswerID, o.By, o.Reason = c.Reply.AnswerID, &c.Reply.By, c.Reason
	return Resolve{o}, nil
}

// decided returns the effect or refusal if r can no longer decide the ask, or
// may not; nil if it may.
func decided(s *State, r ask.Reply, minProof string) (Effect, error) {
	switch {
	case s.End != nil && own(s.End, r):
		return Tell{}, nil // our own earlier attempt won
	case s.Voting() && voted(s, r):
		return Tell{}, nil // our own earlier attempt was counted, whatever came of it since
	}
	return nil, s.MayDecide(r.By, minProof)
}

// MayDecide returns a refusal unless the ask is pending and by may decide it.
// minProof is what the tenant's policy demands.
func (s *State) MayDecide(by ask.By, minProof string) error {
	switch {
	case s.End != nil:
		return resolved(s.End)
	case !s.Known():
		return notFound()
	case !s.Left.IsZero() && by.Responder != ask.ResponderNative:
		return left()
	case !by.Proves(s.Ask.MinProof):
		return unproven(by, s.Ask.MinProof, "this ask")
	case !by.Proves(minProof):
		return unproven(by, minProof, "the tenant's policy")
	case s.Ask.Excludes(by):
		return excluded(s.Ask, by)
	case excludedAs(s, by) != nil:
		return excludedAs(s, by)
	case !s.Ask.MeetsOnly(by):
		return onlyAsker(by)
	case s.Ask.Approval != nil && !s.Ask.Approval.MayVote(by):
		return s.Ask.CheckVote(&ask.Vote{By: by, Choice: ask.ChoiceApprove})
	case len(s.Ask.Audience) > 0 && !by.ProvesPrincipal():
		return ask.Refuse(ask.CodeForbidden, "the dialog of an agent's own host, or its terminal, does not prove who answers, so it may not decide this ask: its audience is %s", strings.Join(ask.Unresolved(s.Ask.Audience), ", "))
	case !s.Ask.Allows(by):
		return ask.Refusal(ask.CodeForbidden, ask.FaultNotInAudience, by.Principal, ask.Unresolved(s.Ask.Audience))
	}
	return nil
}

// excludedAs refuses somebody whom the ask excludes by another of their
// principals, and somebody of whom nobody knows which others they have.
func excludedAs(s *State, by ask.By) error {
	linked, unknown := s.Ask.ExcludedAs(by, s.People)
	if !linked && !unknown {
		return nil
	}
	if unknown {
		return notListed(by)
	}
	return ask.Refuse(ask.CodeForbidden, "%s is %s, whom this ask excludes under another principal: somebody else has to decide", by.Principal, s.People.Of(by.Principal)).At("/by/principal", ask.FaultExcluded)
}

// notListed refuses somebody whom the operator's list of people does not have, where it
// matters who they are.
func notListed(by ask.By) error {
	return ask.Refuse(ask.CodeForbidden, "%s is linked to nobody in the list of people of this bus, so nothing says whose vote this is; this ask needs several people, or excludes somebody: an operator can add the principal to people in the approvals file, and a chat's principal can be linked to a person of that list on the page \"Your chats\" of the inbox", by.Principal).At("/by/principal", ask.FaultNotLinked)
}

// onlyAsker refuses everybody but the asker.
func onlyAsker(by ask.By) error {
	return ask.Refuse(ask.CodeForbidden, "%s did not ask, and only the asker may decide this ask", by.Principal).At("/by/principal", ask.FaultNotTheAsker)
}

// excluded refuses the asker and others whom the ask excludes, and anybody who
// may be one of them.
func excluded(a *ask.Ask, by ask.By) error {
	if slices.Contains(a.Exclude, by.Principal) {
		return ask.Refuse(ask.CodeForbidden, "this ask excludes %s: somebody else has to decide", by.Principal).At("/by/principal", ask.FaultExcluded)
	}
	if a.ExcludeAsker && slices.Contains(a.Asker, by.Principal) {
		return ask.Refuse(ask.CodeForbidden, "%s asked, and this ask excludes its asker: somebody else has to decide", by.Principal).At("/by/principal", ask.FaultIsTheAsker)
	}
	whom := "some people"
	if a.ExcludeAsker {
		whom = "its asker"
	}
	return ask.Refuse(ask.CodeForbidden, "this ask excludes %s, and nothing says which person answers here", whom).At("/by/principal", ask.FaultNoPerson)
}

// unproven refuses a person whose proof is too weak.
func unproven(by ask.By, minProof, who string) error {
	known := "nothing proves who answers"
	if by.Proof != "" {
		known = fmt.Sprintf("%.80q proves too little of who answers", by.Proof)
	}
	return ask.Refuse(ask.CodeForbidden, "%s: %s %s", known, who, ask.Needs("en", minProof)).At("/by/proof", ask.FaultProofTooWeak, minProof)
}

func left() error {
	return ask.Refuse(ask.CodeResolved, "the agent has left this question: it was interrupted, or is being answered at its own terminal")
}

// own reports whether o resulted from this reply.
func own(o *ask.Outcome, r ask.Reply) bool {
	return o.By != nil && o.AnswerID == r.AnswerID && o.By.Principal == r.By.Principal && o.By.Responder == r.By.Responder
}

func decideEnd(s *State, status ask.Status, reason string, now time.Time) (Effect, error) {
	switch {
	case s.End != nil && s.End.Status == status:
		return Tell{}, nil
	case s.End != nil:
		return nil, resolved(s.End)
	case !s.Known():
		return nil, notFound()
	}
	o := end(s, status, now)
	o.Reason = reason
	return Resolve{o}, nil
}

// end returns the outcome of an ask that ends now, without who and why.
func end(s *State, status ask.Status, now time.Time) ask.Outcome {
	if now.Before(s.AskedAt) { // nothing ends before it was asked
		now = s.AskedAt
	}
	return ask.Outcome{
		AskID: s.Ask.ID, Tenant: s.Ask.Tenant, Session: s.Ask.Session, Status: status,
		At: now.UTC(), Waited: max(0, now.Sub(s.AskedAt)), Votes: s.Votes(), Escalated: s.Escalated(),
	}
}

func notFound() error {
	return ask.Refuse(ask.CodeNotFound, "no such ask in this session; it was never asked, or its outcome is past its retention")
}

func resolved(o *ask.Outcome) error {
	e := ask.Refuse(ask.CodeResolved, "already %s", o.EndingAt(time.UTC))
	if o.Status == ask.StatusExpired {
		e.Code = ask.CodeExpired
	}
	e.Outcome = o
	return e
}
