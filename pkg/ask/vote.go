package ask

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Choice is what a vote says.
type Choice string

// The choices of a vote.
const (
	ChoiceApprove   Choice = "approve"
	ChoiceDeny      Choice = "deny"
	ChoiceWithdrawn Choice = "withdrawn" // the person took the vote back, or whom it was given for has voted; it counts for nothing
	// ChoiceRevoked is a vote that counts for nothing since its credential or API token was revoked, or its
	// person signed out by an operator or by the provider. The person may vote again.
	ChoiceRevoked Choice = "revoked"
)

// What was revoked of a vote that is [ChoiceRevoked].
const (
	RevokedCredential = "credential" // the surface's
	RevokedToken      = "token"      // the API token was revoked, or has expired
	RevokedSignIn     = "sign-in"    // an operator or the provider ended the person's sign-ins
	RevokedPerson     = "person"     // by the operator's list of people they may not decide this ask any more
)

// Stands reports whether the vote is for or against: it was not taken back, nor revoked.
func (v *Vote) Stands() bool { return v.Choice == ChoiceApprove || v.Choice == ChoiceDeny }

// Vote is what one person says to an ask with an approval. It is not an
// outcome: the vote that completes a threshold is.
type Vote struct {
	AnswerID string `json:"answer_id"` // of the answer that it was given with
	// By is who voted. Its groups are those that can count: the ones that the
	// approval names, of those that the surface asserted with the vote.
	By       By        `json:"by"`
	Choice   Choice    `json:"choice"`
	Option   string    `json:"option,omitempty"`   // of a choice: the option's id
	Declined bool      `json:"declined,omitempty"` // a denial without an answer: the person declined the ask
	Reason   string    `json:"reason,omitempty"`
	Files    []File    `json:"files,omitempty"` // of the answer
	At       time.Time `json:"at"`
	// Credential is the public key of the surface's credential.
	Credential string `json:"credential,omitempty"`
	// Token is the id of the API token that the vote was given with over HTTP.
	Token string `json:"token,omitempty"`
	// Earlier are the answer ids of this person's earlier votes, oldest first.
	Earlier []string `json:"earlier,omitempty"`
	// Person is who voted, if the operator's list of people has the principal:
	// all principals of one person are one voter.
	Person string `json:"person,omitempty"`
	// ForPerson is likewise whom the person stands in for: see [By.For].
	ForPerson string `json:"for_person,omitempty"`
	// Revoked is what was revoked, such as [RevokedToken], of a vote that is [ChoiceRevoked].
	Revoked string `json:"revoked,omitempty"`
}

// VoteOf returns the vote that a reply is, without its time. The error is that
// of [Ask.Check], or that the vote counts nowhere: see [Ask.CheckVote].
func (a *Ask) VoteOf(r Reply) (Vote, error) {
	v, err := a.AnswerOf(r)
	if err != nil {
		return Vote{}, err
	}
	return v, a.CheckVote(&v)
}

// AnswerOf is VoteOf for somebody whose right to decide is not that of a voter.
func (a *Ask) AnswerOf(r Reply) (Vote, error) {
	if _, _, err := a.Check(r); err != nil {
		return Vote{}, err
	}
	v := a.vote(r)
	v.Choice = ChoiceDeny
	q := &a.Questions[0]
	for i := range r.Answers {
		ans := &r.Answers[i]
		v.Reason, v.Files = ans.Notes, ans.Files
		if a.Approves(ans) {
			v.Choice = ChoiceApprove
		}
		switch {
		case ans.Boolean != nil:
		case len(ans.Selected) == 1:
			v.Option = ans.Selected[0]
		default: // only a free response
			r.Answers = nil
		}
	}
	if len(r.Answers) == 0 {
		f := NewFault("/answers", FaultNoAnswer, clip(q.ID))
		f.QuestionID = q.ID
		return Vote{}, InvalidError("answer", []Fault{f})
	}
	return v, nil
}

// Approves reports whether an answer to the question of an ask with an approval
// is a vote to approve it.
func (a *Ask) Approves(ans *Answer) bool {
	if ans.Boolean != nil {
		return *ans.Boolean
	}
	return len(ans.Selected) == 1 && slices.Contains(a.Approval.ApproveOptions, ans.Selected[0])
}

// DeclineOf returns the vote of a person who declines the ask: a denial.
func (a *Ask) DeclineOf(r Reply, reason string) (Vote, error) {
	v := a.vote(r)
	v.Choice, v.Declined, v.Reason = ChoiceDeny, true, reason
	return v, a.CheckVote(&v)
}

func (a *Ask) vote(r Reply) Vote {
	v := Vote{AnswerID: r.AnswerID, By: r.By}
	v.By.Groups = a.Approval.groups(r.By)
	if r.By.For != nil { // only the rights of that person count
		absent := *r.By.For
		absent.Groups, v.By.Groups = v.By.Groups, nil
		v.By.For = &absent
	}
	return v
}

// CheckVote returns why a vote counts nowhere: an [*Error] with [ErrForbidden]
// if this person's votes do not, or not with this proof, and with [ErrInvalid]
// if it needs a reason.
func (a *Ask) CheckVote(v *Vote) error {
	p := a.Approval
	switch {
	case !v.By.ProvesPrincipal() || !v.By.person():
		return refuseVote(NewFault("/by/principal", FaultNoPerson), "this ask counts the votes of people, and nothing says which person votes here")
	case v.Choice == ChoiceApprove && !p.mayApprove(v.By):
		return refuseVote(NewFault("/by/principal", FaultMayNotVote), "%s may not approve this ask: that takes %s", v.By.Principal, p.Who(english))
	case v.Choice == ChoiceDeny && !p.mayDeny(v.By):
		return refuseVote(NewFault("/by/principal", FaultMayNotVote), "%s may not deny this ask", v.By.Principal)
	}
	if utf8.RuneCountInString(v.Reason) > MaxVoteReason {
		return InvalidError("answer", []Fault{a.reasonFault(NewFault("", FaultNoteTooLong, MaxVoteReason))})
	}
	if v.Choice == ChoiceDeny {
		return nil
	}
	counts, weak := false, ""
	for _, one := range p.all() {
		ok, proof, reason := one.weigh(v)
		switch {
		case ok:
			counts = true
		case reason != nil: // also if it counts for another approval: with a reason it counts for both
			f := NewFault("", FaultNoReason, reason.ReasonPrompt)
			if v.Reason != "" {
				f = NewFault("", FaultReasonMismatch, clip(v.Reason), reason.ReasonPattern)
			}
			return InvalidError("answer", []Fault{a.reasonFault(f)})
		case proof != nil:
			weak = cmp.Or(weak, proof.MinProof)
		}
	}
	if !counts {
		return refuseVote(NewFault("/by/proof", FaultProofTooWeak, weak),
			"%.80q proves too little of who votes: this approval %s", v.By.Proof, Needs("en", weak))
	}
	return nil
}

// weigh reports whether a vote to approve counts for this approval alone. If not,
// it returns an alternative that names the person and needs a stronger proof, or
// a reason; both are nil if none names the person.
func (p *Approval) weigh(v *Vote) (ok bool, proof, reason *Alternative) {
	for i := range p.AnyOf {
		alt := &p.AnyOf[i]
		switch {
		case !alt.names(v.By):
		case !v.By.Proves(alt.MinProof):
			proof = cmp.Or(proof, alt)
		case !alt.reasoned(v.Reason):
			reason = cmp.Or(reason, alt)
		default:
			return true, nil, nil
		}
	}
	return false, proof, reason
}

func (a *Ask) reasonFault(f Fault) Fault {
	f.Pointer, f.QuestionID = "/answers/0/notes", a.Questions[0].ID
	return f
}

func refuseVote(f Fault, detail string, args ...any) error {
	e := Refuse(CodeForbidden, detail, args...)
	e.Faults = []Fault{f}
	return e
}

// reasoned reports whether a vote with this reason counts.
func (alt *Alternative) reasoned(reason string) bool {
	if alt.Reason == "" {
		return true
	}
	if strings.TrimSpace(reason) == "" {
		return false
	}
	re, err := regexp.Compile(alt.ReasonPattern)
	return err == nil && re.MatchString(reason)
}

// NeedsReason reports whether a vote to approve counts only with a reason, and
// what is asked for, which may be empty. It is about the vote of one person, or
// with nil of somebody.
func (p *Approval) NeedsReason(by *By) (prompt string, needed bool) {
	for _, one := range p.all() {
		if said, here := one.needsReason(by); here {
			prompt, needed = cmp.Or(prompt, said), true
		}
	}
	return prompt, needed
}

func (p *Approval) needsReason(by *By) (prompt string, needed bool) {
	for i := range p.AnyOf {
		alt := &p.AnyOf[i]
		switch {
		case by != nil && (!by.Proves(alt.MinProof) || !alt.names(*by)):
		case alt.Reason == "":
			return "", false
		case !needed:
			prompt, needed = alt.ReasonPrompt, true
		}
	}
	return prompt, needed
}

// VoterOf returns the one person who gave a vote, as far as the ask and the vote
// say. See [Ask.Voter].
func (a *Ask) VoterOf(v *Vote) string {
	if v.Person != "" {
		return "person:" + v.Person
	}
	return a.Voter(v.By.Principal)
}

// SeatOf returns the one person whose vote a vote is: of who voted, or of whom that
// person stands in for.
func (a *Ask) SeatOf(v *Vote) string {
	switch {
	case v.By.For == nil:
		return a.VoterOf(v)
	case v.ForPerson != "":
		return "person:" + v.ForPerson
	}
	return a.Voter(v.By.For.Principal)
}

// Voter returns the one person that a principal is, as far as the ask knows:
// all principals of the asker are one.
func (a *Ask) Voter(principal string) string {
	if slices.Contains(a.Asker, principal) {
		return a.Asker[0]
	}
	return principal
}
