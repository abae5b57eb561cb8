package lifecycle

import (
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// decideVote counts a vote that may count. The vote that completes a threshold
// is the outcome.
func decideVote(s *State, v ask.Vote, now time.Time) (Effect, error) {
	votes, err := cast(s, v, now)
	if err != nil {
		return nil, err
	}
	t := s.Ask.Tally(votes, now)
	switch t.Decision {
	case ask.ChoiceApprove:
		return Resolve{decision(s, votes, t.Approvals[len(t.Approvals)-1], now)}, nil
	case ask.ChoiceDeny:
		return Resolve{decision(s, votes, t.Denials[len(t.Denials)-1], now)}, nil
	case ask.ChoiceWithdrawn, ask.ChoiceRevoked:
	}
	return Rewrite{Voted{votes}}, nil
}

// decideUnvote takes a vote back: it stays as one that was withdrawn. Somebody
// who may no longer vote may still do that.
func decideUnvote(s *State, c Unvote, now time.Time) (Effect, error) {
	switch {
	case s.Voting() && voted(s, c.Reply):
		return Tell{}, nil
	case s.End != nil:
		return nil, resolved(s.End)
	case !s.Known():
		return nil, notFound()
	case !c.Reply.By.Proves(s.Ask.MinProof):
		return nil, unproven(c.Reply.By, s.Ask.MinProof, "this ask")
	}
	i := indexOf(s, s.Votes(), c.Reply.By.Principal)
	switch {
	case i < 0:
		return nil, ask.Refuse(ask.CodeConflict, "%s has no vote on this ask to take back", c.Reply.By.Principal)
	case !s.Votes()[i].Stands():
		return Tell{}, nil
	}
	votes, err := cast(s, ask.Vote{AnswerID: c.Reply.AnswerID, By: c.Reply.By, Choice: ask.ChoiceWithdrawn, Credential: c.Credential, Token: c.Token}, now)
	if err != nil {
		return nil, err
	}
	votes[len(votes)-1].By.Groups = nil
	return Rewrite{Voted{votes}}, nil
}

// cast returns the votes with a vote at their end, in place of the person's
// earlier one.
func cast(s *State, v ask.Vote, now time.Time) ([]ask.Vote, error) {
	if v.At = now.UTC(); v.At.Before(s.AskedAt) {
		v.At = s.AskedAt
	}
	v.Person = s.People.Of(v.By.Principal)
	v.By = s.called(v.By)
	if v.By.For != nil {
		v.ForPerson = s.People.Of(v.By.For.Principal)
	}
	votes := slices.Clone(s.Votes())
	who, seat := s.Ask.VoterOf(&v), s.Ask.SeatOf(&v)
	for i := 0; i < len(votes); i++ { // several, if they were linked only later
		switch own := s.Ask.VoterOf(&votes[i]) == who; {
		case own:
		case s.Ask.SeatOf(&votes[i]) != seat || !votes[i].Stands():
			continue
		case v.By.For != nil:
			return nil, seatTaken(&v, &votes[i])
		case votes[i].By.For == nil, v.Choice == ask.ChoiceWithdrawn:
			continue
		default: // the stand-in's vote stays as theirs, with its ids: a repetition counts no more, and their moves are not the absent person's
			votes[i].Choice, votes[i].Option, votes[i].Declined = ask.ChoiceWithdrawn, "", false
			continue
		}
		v.Earlier = append(append(v.Earlier, votes[i].Earlier...), votes[i].AnswerID)
		votes = slices.Delete(votes, i, i+1)
		i--
	}
	switch {
	case len(v.Earlier) > ask.MaxMoves && v.Choice != ask.ChoiceWithdrawn:
		return nil, ask.Refuse(ask.CodeQuota, "a person may change a vote %d times; this one stays as it is", ask.MaxMoves)
	case len(votes) >= ask.MaxVoters:
		return nil, ask.Refuse(ask.CodeQuota, "%d people have voted on this ask, the most that may", ask.MaxVoters)
	}
	return append(votes, v), nil
}

// called returns a person by the name that the operator's list of people gives them, if it has them: what else they
// are called is their own choice, also somebody else's name.
func (s *State) called(by ask.By) ask.By {
	if name := s.People.Of(by.Principal); s.People.List != nil && name != "" {
		by.Name = name
	}
	return by
}

// seatTaken refuses the vote of a stand-in beside that of the absent person, or of
// another stand-in. The absent person's own vote replaces that of a stand-in.
func seatTaken(v, by *ask.Vote) error {
	e := ask.Refuse(ask.CodeForbidden, "%s stands in for %s, but %s has voted for %s already", v.By.Principal, v.By.For.Principal, by.By.Principal, v.By.For.Principal)
	if by.By.For == nil {
		e.Detail = v.By.Principal + " stands in for " + v.By.For.Principal + ", who has voted already"
	}
	return e.At("/by/principal", ask.FaultSeatTaken)
}

// indexOf returns the last vote of the person that a principal is; -1: none.
func indexOf(s *State, votes []ask.Vote, principal string) int {
	who := s.Ask.VoterOf(&ask.Vote{By: ask.By{Principal: principal}, Person: s.People.Of(principal)})
	for i := len(votes) - 1; i >= 0; i-- {
		if s.Ask.VoterOf(&votes[i]) == who {
			return i
		}
	}
	return -1
}

// voted reports whether a reply was counted as a vote, also if the person has
// changed it since.
func voted(s *State, r ask.Reply) bool {
	votes := s.Votes()
	if s.End != nil {
		votes = s.End.Votes
	}
	who := s.Ask.VoterOf(&ask.Vote{By: r.By, Person: s.People.Of(r.By.Principal)})
	return slices.ContainsFunc(votes, func(v ask.Vote) bool {
		return (v.By.Principal == r.By.Principal || s.Ask.VoterOf(&v) == who) && (v.AnswerID == r.AnswerID || slices.Contains(v.Earlier, r.AnswerID))
	})
}

// decision returns the outcome that votes lead to; v is the last one that counts
// for it.
func decision(s *State, votes []ask.Vote, v ask.Vote, now time.Time) ask.Outcome {
	q := &s.Ask.Questions[0]
	o := end(s, ask.StatusAnswered, now)
	o.Votes, o.AnswerID, o.By = votes, v.AnswerID, &v.By
	governed := v.Choice == ask.ChoiceDeny && s.Ask.Approval.Governed()
	if option := q.Option(v.Option); v.Declined || governed || option != nil && option.Cancels {
		o.Status, o.Reason = ask.StatusCancelled, v.Reason
		if option != nil && !v.Declined {
			o.CancelledBy = &ask.CancelledBy{QuestionID: q.ID, OptionID: v.Option}
		}
		return o
	}
	o.Source = ask.SourceHuman
	a := ask.Answer{QuestionID: q.ID, Notes: v.Reason}
	if v.Option != "" {
		a.Selected = []string{v.Option}
	} else {
		a.Boolean = new(v.Choice == ask.ChoiceApprove)
	}
	o.Answers = []ask.Answer{a}
	return o
}
