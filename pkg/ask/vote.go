package ask

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	ChoiceWithdrawn Choice = "withdrawn" // the person took the vote back; it counts for nothing
	// ChoiceRevoked is a vote that counts for nothing since its credential or API token was revoked, or its
	// person signed out by an operator or by the provider. The person may vote again.
	ChoiceRevoked Choice = "revoked"
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
}

// VoteOf returns the vote that a reply is, without its time. The error is that
// of [Ask.Check], or that the vote counts nowhere: see [Ask.CheckVote].
func (a *Ask) VoteOf(r Reply) (Vote, error) {
	if _, _, err := a.Check(r); err != nil {
		return Vote{}, err
	}
	v := a.vote(r)
	v.Choice = ChoiceDeny
	q := &a.Questions[0]
	for i := range r.Answers {
		ans := &r.Answers[i]
		v.Reason = ans.Notes
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
	return v, a.CheckVote(&v)
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

// Voter returns the one person that a principal is, as far as the ask knows:
// all principals of the asker are one.
func (a *Ask) Voter(principal string) string {
	if slices.Contains(a.Asker, principal) {
		return a.Asker[0]
	}
	return principal
}

// Tally is how far the votes on an ask have come.
type Tally struct {
	Decision Choice // [ChoiceApprove] or [ChoiceDeny]; empty: undecided
	Option   string // of an approved choice, or of the one that is nearest: the option's id
	// Have of Need votes are there for the alternative that lacks least;
	// Missing is what it lacks.
	Have, Need int
	Missing    []Factor
	Approvals  []Vote // that count, in the order in which they were given
	Denials    []Vote
	DenyNeed   int      // denials that deny the ask
	Awaited    []string // the people who have not voted and are waited for: see [AfterAll]
	// Blocked means that the ask can no longer be approved unless somebody
	// who denied it changes that vote.
	Blocked bool
}

// Tally counts votes. A vote that is too old at now does not count. The ask must
// have an approval.
func (a *Ask) Tally(votes []Vote, now time.Time) Tally {
	p := a.Approval
	all := p.all()
	options := []string{""}
	if len(p.ApproveOptions) > 0 {
		options = p.ApproveOptions
	}
	counts := make([]count, len(all))
	t := Tally{DenyNeed: p.denials()}
	denied := false
	for i, one := range all {
		c := a.count(one, votes, now)
		counts[i] = c
		t.Awaited = append(t.Awaited, c.awaited...)
		t.Denials = union(votes, t.Denials, c.denials)
		t.DenyNeed = min(t.DenyNeed, one.denials())
		denied = denied || len(c.denials) >= one.denials()
	}
	least := -1
	for _, option := range options {
		lack := 0
		best := make([]reached, len(all))
		for i, one := range all {
			best[i] = one.best(counts[i].byOption[option])
			lack += best[i].need - best[i].have
		}
		if least >= 0 && lack >= least {
			continue
		}
		least = lack
		t.Option, t.Missing, t.Approvals = option, nil, nil
		far := best[0] // the one that lacks most is told in numbers
		for _, r := range best {
			if r.need-r.have > far.need-far.have {
				far = r
			}
			t.Missing = append(t.Missing, r.missing...)
			t.Approvals = union(votes, t.Approvals, r.counted)
		}
		t.Have, t.Need = far.have, far.need
	}
	switch {
	case len(t.Awaited) > 0:
	case denied:
		t.Decision = ChoiceDeny
	case least == 0:
		t.Decision = ChoiceApprove
	}
	if t.Decision == "" {
		t.Blocked = a.blocked(t.Denials)
	}
	return t
}

// union returns the votes that are in one of two lists, in the order of all.
func union(all, one, other []Vote) (both []Vote) {
	if len(one) == 0 {
		return other
	}
	in := func(list []Vote, v Vote) bool {
		return slices.ContainsFunc(list, func(o Vote) bool { return o.AnswerID == v.AnswerID && o.By.Principal == v.By.Principal })
	}
	for _, v := range all {
		if in(one, v) || in(other, v) {
			both = append(both, v)
		}
	}
	return both
}

// count is what votes say about one approval.
type count struct {
	byOption map[string][]Vote // that approve
	denials  []Vote
	awaited  []string
}

// count reads the votes for one approval: those that stand and are fresh, and of
// each person the last.
func (a *Ask) count(p *Approval, votes []Vote, now time.Time) count {
	c := count{byOption: map[string][]Vote{}}
	last := make(map[string]int, len(votes))
	for i := range votes {
		if votes[i].Stands() {
			last[a.VoterOf(&votes[i])] = i
		}
	}
	voted := make(map[string]bool, len(votes))
	for i, v := range votes {
		if p.Fresh > 0 && now.Sub(v.At) > p.Fresh || !v.Stands() || last[a.VoterOf(&v)] != i {
			continue
		}
		voted[a.VoterOf(&v)], voted[a.Voter(v.By.Principal)] = true, true
		switch {
		case v.Choice == ChoiceApprove:
			c.byOption[v.Option] = append(c.byOption[v.Option], v)
		case p.deniers(v.By):
			c.denials = append(c.denials, v)
		}
	}
	if p.After == AfterAll {
		for _, principal := range p.named() {
			if !voted[a.Voter(principal)] {
				c.awaited = append(c.awaited, principal)
			}
		}
	}
	return c
}

// reached is how far votes for one option have come for one approval.
type reached struct {
	have, need int
	missing    []Factor
	counted    []Vote
}

// best returns how far the votes have come for the alternative that lacks least.
func (p *Approval) best(votes []Vote) (best reached) {
	for i := range p.AnyOf {
		alt := &p.AnyOf[i]
		have, missing, counted := alt.lacks(votes)
		if need := alt.need(); i == 0 || need-have < best.need-best.have {
			best = reached{have, need, missing, counted}
		}
	}
	return best
}

// lacks returns how many votes the alternative has, what it lacks, and the votes
// that count for it.
func (alt *Alternative) lacks(votes []Vote) (have int, missing []Factor, counted []Vote) {
	factors := alt.factors()
	fits := make([][]bool, 0, len(votes)) // of each vote that counts: in which factors
	for _, v := range votes {
		in := make([]bool, len(factors))
		some := false
		for i, f := range factors {
			in[i] = v.By.Proves(alt.MinProof) && alt.reasoned(v.Reason) && lists(f.From, v.By)
			some = some || in[i]
		}
		if some {
			fits, counted = append(fits, in), append(counted, v)
		}
	}
	for i, n := range fill(factors, fits, alt.Distinct) {
		have += n
		if lack := factors[i].Need - n; lack > 0 {
			missing = append(missing, Factor{lack, factors[i].From})
		}
	}
	return have, missing, counted
}

// fill returns how many people each factor gets, at most what it needs. fits
// says for each person which factors it fits. If people are distinct, each is in
// one factor at most, such that as many as possible are used.
func fill(factors []Factor, fits [][]bool, distinct bool) []int {
	got := make([]int, len(factors))
	if !distinct {
		for _, in := range fits {
			for i := range factors {
				if in[i] && got[i] < factors[i].Need {
					got[i]++
				}
			}
		}
		return got
	}
	people := make([][]int, len(factors)) // in each factor
	var place func(person int, seen []bool) bool
	place = func(person int, seen []bool) bool {
		for i := range factors {
			if seen[i] || !fits[person][i] {
				continue
			}
			seen[i] = true
			if len(people[i]) < factors[i].Need {
				people[i] = append(people[i], person)
				return true
			}
			for j, other := range people[i] {
				if place(other, seen) {
					people[i][j] = person
					return true
				}
			}
		}
		return false
	}
	for person := range fits {
		place(person, make([]bool, len(factors)))
	}
	for i := range factors {
		got[i] = len(people[i])
	}
	return got
}

// Words says how far the votes have come, in a language such as "zh-CN";
// unknown and empty: English. An example is "1 of 2 approvals: Mei; 1 more
// needed from group sre".
func (t *Tally) Words(lang string) string {
	w := voteWords(lang)
	switch t.Decision {
	case ChoiceApprove:
		return fmt.Sprintf(w.approved, voters(t.Approvals, w))
	case ChoiceDeny:
		return fmt.Sprintf(w.denied, voters(t.Denials, w))
	case ChoiceWithdrawn, ChoiceRevoked:
	}
	said := t.Count(lang)
	if len(t.Approvals) > 0 {
		said += w.colon + voters(t.Approvals, w)
	}
	parts := []string{said}
	if len(t.Denials) > 0 {
		parts = append(parts, fmt.Sprintf(w.against, len(t.Denials), t.DenyNeed)+w.colon+voters(t.Denials, w))
	}
	return strings.Join(append(parts, t.Lacks(lang)...), w.semicolon)
}

// Count is the beginning of [Tally.Words]: "1 of 2 approvals".
func (t *Tally) Count(lang string) string {
	return fmt.Sprintf(voteWords(lang).count, t.Have, t.Need)
}

// Lacks is the end of [Tally.Words], one phrase for each thing that an undecided
// ask waits for: "1 more needed from group sre".
func (t *Tally) Lacks(lang string) []string {
	w := voteWords(lang)
	var parts []string
	if t.Decision != "" {
		return nil
	}
	for _, f := range t.Missing {
		if len(f.From) == 0 {
			parts = append(parts, fmt.Sprintf(w.more, f.Need))
			continue
		}
		parts = append(parts, fmt.Sprintf(w.moreOf, f.Need, entries(f.From, w)))
	}
	if len(t.Awaited) > 0 {
		parts = append(parts, fmt.Sprintf(w.awaited, entries(t.Awaited, w)))
	}
	if t.Blocked {
		parts = append(parts, w.blocked)
	}
	return parts
}

// Who names the people who may approve, in a language as in [Tally.Words]; empty:
// everybody who may decide the ask.
func (p *Approval) Who(lang string) string {
	w := voteWords(lang)
	var all []string
	for _, one := range p.all() {
		var here []string
		everybody := false
		for i := range one.AnyOf {
			for _, f := range one.AnyOf[i].factors() {
				everybody = everybody || len(f.From) == 0
				here = append(here, f.From...)
			}
		}
		if !everybody { // others of the approvals name the people who are needed
			all = append(all, here...)
		}
	}
	slices.Sort(all)
	return entries(slices.Compact(all), w)
}

const maxNamed = 5 // people or groups in a sentence

func voters(votes []Vote, w *wordsOfVotes) string {
	all := make([]string, len(votes))
	for i := range votes {
		by := &votes[i].By
		all[i] = Clip(CleanLine(cmp.Or(by.Name, by.Principal)), 80)
	}
	return few(all, w.comma, w)
}

// entries names people of a list: "group sre or os:mei".
func entries(from []string, w *wordsOfVotes) string {
	all := make([]string, len(from))
	for i, entry := range from {
		if name, ok := strings.CutPrefix(entry, "group:"); ok {
			entry = w.group + name
		}
		all[i] = Clip(CleanLine(entry), 80)
	}
	return few(all, w.or, w)
}

func few(all []string, between string, w *wordsOfVotes) string {
	if len(all) > maxNamed {
		all = append(slices.Clone(all[:maxNamed-1]), fmt.Sprintf(w.others, strconv.Itoa(len(all)-maxNamed+1)))
	}
	return strings.Join(all, between)
}

type wordsOfVotes struct {
	count, against, more, moreOf, awaited, blocked, approved, denied string
	group, colon, semicolon, comma, or, others                       string
}

func voteWords(lang string) *wordsOfVotes {
	if speaksChinese(lang) {
		return &wordsOfVotes{
			"%d/%d 票批准", "%d/%d 票否决", "还差 %d 票", "还差 %d 票（%s）", "等待 %s 投票", "除非有人改投，否则无法获批", "已由 %s 批准", "已被 %s 否决",
			"组 ", "：", "；", "、", " 或 ", "其他 %s 人",
		}
	}
	return &wordsOfVotes{
		"%d of %d approvals", "%d of %d denials", "%d more needed", "%d more needed from %s", "waiting for %s to vote", "it can no longer be approved unless somebody changes a vote", "approved by %s", "denied by %s",
		"group ", ": ", "; ", ", ", " or ", "%s others",
	}
}
