package ask

import (
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Bounds of approvals.
const (
	MaxAlternatives = 8    // alternatives of an approval, and factors of one alternative
	MaxVoters       = 50   // people who vote on one ask
	MaxMoves        = 16   // times that one person may change a vote
	MaxVoteReason   = 1000 // code points of a vote's reason
)

// Approval says whose votes end an ask. An ask with an approval has one
// question, a single choice or a yes/no, and each answer to it is the vote of
// one person. The first threshold that is reached ends the ask; if both are
// reached, it is denied.
type Approval struct {
	AnyOf []Alternative `json:"any_of"` // one of them is enough
	// Deny says who can deny. Nil: one denial by anybody who may approve.
	Deny *Denial `json:"deny,omitempty"`
	// ApproveOptions and DenyOptions are ids of the options of a choice; each
	// option is in one of them. Without DenyOptions all others deny. A yes
	// approves and a no denies. Votes for different options that approve are
	// counted separately.
	ApproveOptions []string `json:"approve_options,omitempty"`
	DenyOptions    []string `json:"deny_options,omitempty"`
	// After is empty or [AfterAll].
	After After `json:"after,omitempty"`
	// Fresh is how old a vote may be when the ask is decided; 0: any age. In
	// JSON it is a string in Go syntax, such as "1h".
	Fresh time.Duration `json:"fresh,omitempty"`
	// NoBreakGlass forbids the operator's roles to decide the ask alone: see [BreakGlassRole].
	NoBreakGlass bool `json:"no_break_glass,omitempty"`

	// Policy names the operator's policy that demands this approval; empty: the
	// ask itself does. And are the approvals that must be reached as well, by
	// votes for the same option; one that denies is enough to deny. Only the
	// broker sets these two.
	Policy string     `json:"policy,omitempty" wire:"broker"`
	And    []Approval `json:"and,omitempty" wire:"broker"`
}

// Policy is a policy of the operator that applied to an ask when it was asked.
type Policy struct {
	Name    string `json:"name"`
	Version string `json:"version"`        // changes with the policy's content
	Rule    string `json:"rule,omitempty"` // which of its rules held: "rules/0", or "otherwise"
}

// all returns the approval and those that must be reached as well.
func (p *Approval) all() []*Approval {
	all := []*Approval{p}
	for i := range p.And {
		all = append(all, &p.And[i])
	}
	return all
}

// Governed reports whether a policy demands the approval, or a part of it. A
// denial then ends the ask as cancelled, whatever its options are called.
func (p *Approval) Governed() bool {
	return slices.ContainsFunc(p.all(), func(one *Approval) bool { return one.Policy != "" })
}

// After says whose votes are waited for. Empty: nobody's; the first threshold
// that is reached ends the ask.
type After string

// AfterAll waits until everybody whom the approval names has voted.
const AfterAll After = "all"

// Alternative is one way to approve an ask: Need votes of the people in From,
// or all of several factors.
type Alternative struct {
	Need  int      `json:"need,omitempty"` // without AllOf; default 1
	From  []string `json:"from,omitempty"` // "group:<name>", "schedule:<name>" or principals; empty: everybody who may decide the ask
	AllOf []Factor `json:"all_of,omitempty"`
	// Distinct counts a person in one factor only. Without it the vote of
	// somebody in two groups counts in both.
	Distinct bool `json:"distinct,omitempty"`
	// Reason is empty or "required": then only votes with a reason count.
	// ReasonPrompt says what is wanted, and ReasonPattern (RE2) what it must
	// match, such as the number of a ticket.
	Reason        string `json:"reason,omitempty"`
	ReasonPrompt  string `json:"reason_prompt,omitempty"`
	ReasonPattern string `json:"reason_pattern,omitempty"`
	MinProof      string `json:"min_proof,omitempty"` // as [Ask.MinProof], of the votes that count
}

// ReasonRequired is the value of [Alternative.Reason].
const ReasonRequired = "required"

// Factor is a number of votes of some people.
type Factor struct {
	Need int      `json:"need,omitempty"` // default 1
	From []string `json:"from,omitempty"` // as in [Alternative]
}

// Denial says how many votes against an ask deny it, and whose.
type Denial struct {
	Need int      `json:"need,omitempty"` // default 1
	From []string `json:"from,omitempty"` // as in [Alternative]; empty: everybody who may approve
}

// OnlyAsker is the value of [Ask.Only].
const OnlyAsker = "asker"

// factors returns what the alternative needs: all of it.
func (alt *Alternative) factors() []Factor {
	if len(alt.AllOf) > 0 {
		return alt.AllOf
	}
	return []Factor{{alt.Need, alt.From}}
}

// need returns how many votes the alternative needs.
func (alt *Alternative) need() (n int) {
	for _, f := range alt.factors() {
		n += f.Need
	}
	return n
}

// lists reports whether one of the entries, "group:<name>", "schedule:<name>" or a
// principal, names a person, or whom the person stands in for. Without entries
// everybody is named.
func lists(entries []string, by By) bool {
	by = by.seat()
	return len(entries) == 0 || slices.ContainsFunc(entries, func(entry string) bool {
		return isNamed(entry, by)
	})
}

// MayVote reports whether a vote of this person can count, for or against.
// Proofs and reasons are not checked: see [Ask.CheckVote].
func (p *Approval) MayVote(by By) bool {
	return by.ProvesPrincipal() && by.person() && (p.mayApprove(by) || p.mayDeny(by))
}

func (p *Approval) mayApprove(by By) bool {
	return slices.ContainsFunc(p.all(), func(one *Approval) bool { return one.approvers(by) })
}

func (p *Approval) mayDeny(by By) bool {
	return slices.ContainsFunc(p.all(), func(one *Approval) bool { return one.deniers(by) })
}

// approvers reports whether a person's vote can count for this approval alone.
func (p *Approval) approvers(by By) bool {
	return slices.ContainsFunc(p.AnyOf, func(alt Alternative) bool { return alt.names(by) })
}

// deniers reports whether a person's vote can count against this approval alone.
func (p *Approval) deniers(by By) bool {
	if p.Deny == nil || len(p.Deny.From) == 0 {
		return p.approvers(by)
	}
	return lists(p.Deny.From, by)
}

// names reports whether one of the alternative's factors names a person.
func (alt *Alternative) names(by By) bool {
	return slices.ContainsFunc(alt.factors(), func(f Factor) bool { return lists(f.From, by) })
}

// several reports whether votes of more than one person are needed.
func (p *Approval) several() bool {
	return slices.ContainsFunc(p.all(), func(one *Approval) bool {
		return one.After == AfterAll || one.denials() > 1 || slices.ContainsFunc(one.AnyOf, func(alt Alternative) bool { return alt.need() > 1 })
	})
}

// denials returns how many votes deny the ask.
func (p *Approval) denials() int {
	if p.Deny == nil {
		return 1
	}
	return p.Deny.Need
}

// groups returns which of a person's groups the approval names: those that can
// count.
func (p *Approval) groups(by By) []string {
	var named []string
	for _, g := range by.seat().Groups {
		entry := "group:" + g
		if p.names(func(from []string) bool { return slices.Contains(from, entry) }) && !slices.Contains(named, g) {
			named = append(named, g)
		}
	}
	return named
}

// names reports whether match is true of one of the lists of people.
func (p *Approval) names(match func(from []string) bool) bool {
	return slices.ContainsFunc(p.all(), func(one *Approval) bool { return one.namesHere(match) })
}

func (p *Approval) namesHere(match func(from []string) bool) bool {
	return p.Deny != nil && match(p.Deny.From) || slices.ContainsFunc(p.AnyOf, func(alt Alternative) bool {
		return slices.ContainsFunc(alt.factors(), func(f Factor) bool { return match(f.From) })
	})
}

// named returns the principals that this approval alone names, each once.
func (p *Approval) named() (all []string) {
	p.namesHere(func(from []string) bool {
		for _, entry := range from {
			if !collective(entry) && !slices.Contains(all, entry) {
				all = append(all, entry)
			}
		}
		return false
	})
	return all
}

func (p *Approval) normalize(q *Question) {
	for i := range p.AnyOf {
		alt := &p.AnyOf[i]
		if alt.Need == 0 && len(alt.AllOf) == 0 {
			alt.Need = 1
		}
		for j := range alt.AllOf {
			if alt.AllOf[j].Need == 0 {
				alt.AllOf[j].Need = 1
			}
		}
	}
	if p.Deny != nil && p.Deny.Need == 0 {
		p.Deny.Need = 1
	}
	if len(p.DenyOptions) > 0 || len(p.ApproveOptions) == 0 {
		return
	}
	for i := range q.Options {
		if id := q.Options[i].ID; !slices.Contains(p.ApproveOptions, id) {
			p.DenyOptions = append(p.DenyOptions, id)
		}
	}
}

type plainApproval Approval

type wireApproval struct {
	plainApproval
	Fresh duration `json:"fresh,omitempty"`
}

// MarshalJSON writes the approval with its duration as a string.
func (p Approval) MarshalJSON() ([]byte, error) {
	return marshal(wireApproval{plainApproval(p), duration(p.Fresh)})
}

// UnmarshalJSON reads an approval. It ignores unknown fields.
func (p *Approval) UnmarshalJSON(data []byte) error { return jsonv1.Unmarshal(data, p) }

// UnmarshalJSONFrom reads an approval within a document, whose reader says what
// happens with unknown fields.
func (p *Approval) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	var w wireApproval
	if err := jsonv2.UnmarshalDecode(from, &w); err != nil {
		return err
	}
	*p = Approval(w.plainApproval)
	p.Fresh = time.Duration(w.Fresh)
	return nil
}
