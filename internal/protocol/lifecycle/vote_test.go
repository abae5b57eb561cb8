package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// person is somebody with groups.
func person(name string, groups ...string) ask.By {
	return ask.By{Principal: "os:" + name, Name: name, Groups: groups, Proof: ask.ProofOIDC, Responder: "web"}
}

func says(id string, by ask.By, yes bool) lifecycle.Reply {
	return lifecycle.Reply{Reply: ask.Reply{AnswerID: id, By: by, Answers: []ask.Answer{{QuestionID: "q1", Boolean: &yes}}}, Credential: "U" + by.Principal}
}

// voting is a yes/no with an approval, as it is stored.
func voting(t testing.TB, p ask.Approval, change ...func(*ask.Ask)) *world {
	t.Helper()
	a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Timeout: time.Hour, Questions: []ask.Question{{Text: "Deploy?", Kind: ask.KindBoolean}}, Approval: &p}
	for _, c := range change {
		c(&a)
	}
	a.Normalize()
	if err := a.Validate(now); err != nil {
		t.Fatal(err)
	}
	s := lifecycle.New(a, now)
	s.Digests = []string{"d"}
	w := &world{now: now}
	if _, err := w.do(t, lifecycle.Ask{State: s}); err != nil {
		t.Fatal(err)
	}
	return w
}

func twoOfSRE() ask.Approval {
	return ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:sre"}}}}
}

func TestTheCompletingVoteIsTheOutcome(t *testing.T) {
	t.Parallel()
	w := voting(t, twoOfSRE())
	mei, jo := person("mei", "sre", "dev"), person("jo", "sre")
	s, err := w.do(t, says("v1", mei, true))
	if err != nil || s.End != nil || len(s.Votes()) != 1 {
		t.Fatalf("%+v, %v", s.Votes(), err)
	}
	if v := s.Votes()[0]; !slices.Equal(v.By.Groups, []string{"sre"}) || v.Credential != "Uos:mei" || !v.At.Equal(now) {
		t.Errorf("the vote is %+v", v)
	}
	w.now = now.Add(time.Minute)
	s, err = w.do(t, says("v2", jo, true))
	if err != nil || s.End == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	o := s.End
	if o.Status != ask.StatusAnswered || o.Source != ask.SourceHuman || !*o.Answers[0].Boolean || o.AnswerID != "v2" || o.By.Principal != "os:jo" || len(o.Votes) != 2 {
		t.Errorf("the outcome is %+v", o)
	}
	if got := o.Ending(); got != "approved by mei, jo" {
		t.Error(got)
	}
	if len(w.events) != 3 { // asked, voted, ended: the completing vote is one write
		t.Errorf("%d events", len(w.events))
	}
	// The first voter's retry is told the outcome, and nobody else's vote counts.
	if _, err := w.do(t, says("v1", mei, true)); err != nil {
		t.Error(err)
	}
	if _, err := w.do(t, says("v3", person("ana", "sre"), true)); !errors.Is(err, ask.ErrResolved) {
		t.Error(err)
	}
}

func TestAVoteMovesAndIsTakenBack(t *testing.T) {
	t.Parallel()
	w := voting(t, ask.Approval{AnyOf: twoOfSRE().AnyOf, Deny: &ask.Denial{Need: 2}})
	mei := person("mei", "sre")
	do := func(c lifecycle.Command) []ask.Vote {
		t.Helper()
		s, err := w.do(t, c)
		if err != nil || s.End != nil {
			t.Fatalf("%T: %+v, %v", c, s.End, err)
		}
		return s.Votes()
	}
	do(says("v1", mei, true))
	if votes := do(says("v2", mei, false)); len(votes) != 1 || votes[0].Choice != ask.ChoiceDeny || !slices.Equal(votes[0].Earlier, []string{"v1"}) {
		t.Errorf("moved: %+v", votes)
	}
	if votes := do(says("v1", mei, true)); votes[0].Choice != ask.ChoiceDeny {
		t.Errorf("an old vote came again, and counted: %+v", votes)
	}
	away := mei
	away.Groups = nil // she has left the group; what she said she may still take back
	if votes := do(lifecycle.Unvote{Reply: ask.Reply{AnswerID: "u1", By: away}}); len(votes) != 1 || votes[0].Choice != ask.ChoiceWithdrawn {
		t.Errorf("taken back: %+v", votes)
	}
	do(lifecycle.Unvote{Reply: ask.Reply{AnswerID: "u1", By: mei}})
	if votes := do(says("v2", mei, false)); votes[0].Choice != ask.ChoiceWithdrawn {
		t.Errorf("a vote that was taken back came again, and counted: %+v", votes)
	}
	if _, err := w.do(t, lifecycle.Unvote{Reply: ask.Reply{AnswerID: "u2", By: person("jo", "sre")}}); !errors.Is(err, ask.ErrConflict) {
		t.Error(err)
	}
	for i := range ask.MaxMoves {
		_, _ = w.do(t, says(fmt.Sprint("m", i), mei, i%2 == 0))
	}
	if _, err := w.do(t, says("one more", mei, true)); !errors.Is(err, ask.ErrQuota) {
		t.Errorf("without end: %v", err)
	}
	if votes := do(lifecycle.Unvote{Reply: ask.Reply{AnswerID: "u3", By: mei}}); votes[0].Choice != ask.ChoiceWithdrawn {
		t.Errorf("a vote that was changed so often cannot be taken back: %+v", votes)
	}
	if _, err := w.do(t, says("one more", mei, true)); !errors.Is(err, ask.ErrQuota) {
		t.Errorf("after that: %v", err)
	}
}

// TestAStandInsVoteIsReplaced: the absent person's own vote replaces it, however
// often it was moved; it never counts again; and taking one's vote back leaves alone
// what somebody else voted for oneself.
func TestAStandInsVoteIsReplaced(t *testing.T) {
	t.Parallel()
	mei, jo, kim := person("mei", "sre"), person("jo"), person("kim")
	of := person("jo", "sre") // Jo as one who votes for herself, and for whom Kim stands in
	jo.For, kim.For = &mei, &of
	deny := &ask.Denial{Need: 2}
	standing := func(w *world) (who []string) {
		for _, v := range w.held.Votes() {
			if v.Stands() {
				who = append(who, v.By.Name)
			}
		}
		return who
	}
	must := func(w *world, c lifecycle.Command, want ...string) {
		t.Helper()
		if _, err := w.do(t, c); err != nil || !slices.Equal(standing(w), want) {
			t.Errorf("%v stand, want %v: %+v, %v", standing(w), want, w.held.Votes(), err)
		}
	}
	w := voting(t, ask.Approval{AnyOf: twoOfSRE().AnyOf, Deny: deny})
	for i := range ask.MaxMoves + 1 {
		must(w, says(fmt.Sprint("v", i), jo, i%2 == 0), "jo")
	}
	must(w, says("own", mei, true), "mei")
	must(w, lifecycle.Unvote{Reply: ask.Reply{AnswerID: "u1", By: mei}})
	must(w, says("v1", jo, false))
	must(w, says(fmt.Sprint("v", ask.MaxMoves), jo, true))

	w = voting(t, ask.Approval{AnyOf: []ask.Alternative{{Need: 3, From: []string{"group:sre"}}}, Deny: deny})
	must(w, says("v1", jo, true), "jo")
	must(w, says("v2", kim, true), "jo", "kim")
	must(w, lifecycle.Unvote{Reply: ask.Reply{AnswerID: "u1", By: person("jo")}}, "kim")
}

func TestWhoMayVote(t *testing.T) {
	t.Parallel()
	excluding := func(a *ask.Ask) {
		a.ExcludeAsker, a.Asker, a.Exclude = true, []string{"os:asker"}, []string{"os:boss"}
	}
	asker := func(a *ask.Ask) {
		a.Only, a.Asker = ask.OnlyAsker, []string{"os:asker", "oidc:id.example.com#asker"}
		a.Approval.AnyOf[0].Need = 1
	}
	for name, c := range map[string]struct {
		change func(*ask.Ask)
		by     ask.By
		want   error
	}{
		"one of the group":      {excluding, person("mei", "sre"), nil},
		"the asker":             {excluding, person("asker", "sre"), ask.ErrForbidden},
		"somebody excluded":     {excluding, person("boss", "sre"), ask.ErrForbidden},
		"a token":               {excluding, ask.By{Principal: "token:x", Groups: []string{"sre"}}, ask.ErrForbidden},
		"of no group":           {excluding, person("mei"), ask.ErrForbidden},
		"only the asker":        {asker, person("asker", "sre"), nil},
		"only, and it is not":   {asker, person("mei", "sre"), ask.ErrForbidden},
		"only, at its own host": {asker, ask.By{Principal: "os:asker", Groups: []string{"sre"}, Proof: ask.ProofHostDialog}, ask.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := voting(t, twoOfSRE(), c.change)
			s, err := w.do(t, says("v1", c.by, true))
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%+v, %v", s.Votes(), err)
			}
			if _, refused := w.do(t, lifecycle.Decline{Reply: ask.Reply{AnswerID: "d1", By: c.by}}); c.want != nil && refused == nil {
				t.Error("it may decline")
			}
			if may := w.held.Ask.Allows(c.by); may != (c.want == nil) {
				t.Errorf("Allows is %v", may)
			}
		})
	}
}

func TestDenials(t *testing.T) {
	t.Parallel()
	mei, jo := person("mei", "sre"), person("jo", "sre")
	w := voting(t, twoOfSRE())
	s, err := w.do(t, says("v1", mei, false))
	if err != nil || s.End == nil || *s.End.Answers[0].Boolean || s.End.Ending() != "denied by mei" {
		t.Errorf("%+v, %v", s.End, err)
	}
	w = voting(t, twoOfSRE())
	s, err = w.do(t, lifecycle.Decline{Reply: ask.Reply{AnswerID: "d1", By: mei}, Reason: "too risky"})
	if err != nil || s.End == nil || s.End.Status != ask.StatusCancelled || s.End.Ending() != "denied by mei: too risky" {
		t.Errorf("%+v, %v", s.End, err)
	}
	w = voting(t, ask.Approval{AnyOf: twoOfSRE().AnyOf, Deny: &ask.Denial{Need: 2}})
	for _, by := range []ask.By{mei, jo} {
		s, err = w.do(t, says("v-"+by.Name, by, false))
	}
	if err != nil || s.End == nil || s.End.Ending() != "denied by mei, jo" {
		t.Errorf("%+v, %v", s.End, err)
	}
}

func TestAnExpiryTellsTheVotes(t *testing.T) {
	t.Parallel()
	for _, timed := range []bool{false, true} {
		w := voting(t, twoOfSRE())
		if _, err := w.do(t, says("v1", person("mei", "sre"), true)); err != nil {
			t.Fatal(err)
		}
		if timed {
			w.store(lifecycle.Ended{Outcome: w.held.Will, Timed: true})
		} else {
			w.now = now.Add(time.Hour + lifecycle.Overdue + 1)
			if _, err := w.do(t, lifecycle.Look{}); err != nil {
				t.Fatal(err)
			}
		}
		o := w.held.End
		if got := o.Ending(); o.Status != ask.StatusExpired || len(o.Votes) != 1 || got != "expired: 1 of 2 approvals: mei; 1 more needed from group sre" {
			t.Errorf("%s, %+v", got, o)
		}
	}
}

// TestVotesDecideAsTheirPolicySays votes at random on random policies. An
// independent count says when the ask must have ended, and how.
func TestVotesDecideAsTheirPolicySays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		people := []ask.By{person("a", "sre"), person("b", "sre", "sec"), person("c", "sec"), person("d", "dev"), person("e", "sre", "sec", "dev")}
		from := func(label string) []string {
			return rapid.SampledFrom([][]string{nil, {"group:sre"}, {"group:sec", "os:d"}, {"group:dev", "group:sre"}}).Draw(r, label)
		}
		need := func(label string) int { return rapid.IntRange(1, 3).Draw(r, label) }
		p := ask.Approval{AnyOf: []ask.Alternative{{Need: need("need"), From: from("from")}}}
		if rapid.Bool().Draw(r, "factors") {
			p.AnyOf[0] = ask.Alternative{AllOf: []ask.Factor{{Need: need("need 1"), From: from("from 1")}, {Need: need("need 2"), From: from("from 2")}}, Distinct: rapid.Bool().Draw(r, "distinct")}
		}
		if rapid.Bool().Draw(r, "another") {
			p.AnyOf = append(p.AnyOf, ask.Alternative{Need: need("or need"), From: from("or from")})
		}
		if rapid.Bool().Draw(r, "deny") {
			p.Deny = &ask.Denial{Need: need("denials"), From: from("deniers")}
		}
		w := voting(t, p)
		said := map[string]bool{} // what each person's vote says, of those that were accepted
		var end *ask.Outcome
		for i := range rapid.IntRange(1, 14).Draw(r, "commands") {
			by := people[rapid.IntRange(0, len(people)-1).Draw(r, "who")]
			yes, back := rapid.Bool().Draw(r, "yes"), rapid.IntRange(0, 4).Draw(r, "back") == 0
			var c lifecycle.Command = says(fmt.Sprint("v", i), by, yes)
			if back {
				c = lifecycle.Unvote{Reply: ask.Reply{AnswerID: fmt.Sprint("u", i), By: by}}
			}
			s, err := w.do(t, c)
			if _, again := lifecycle.Decide(w.held, c, w.now); (err == nil) != (again == nil) {
				t.Fatalf("%+v: %v, and again %v", c, err, again)
			}
			switch {
			case end != nil:
				if w.held.End != end {
					t.Fatal("the end changed")
				}
				continue
			case err != nil:
				continue
			case back:
				delete(said, by.Principal)
			default:
				said[by.Principal] = yes
			}
			approved, denied := count(p, people, said)
			switch {
			case (s.End != nil) != (approved || denied):
				t.Fatalf("%+v with %v: ended %v, approved %v, denied %v", p, said, s.End != nil, approved, denied)
			case s.End == nil && len(s.Votes()) > len(people):
				t.Fatalf("%d votes of %d people", len(s.Votes()), len(people))
			case s.End == nil:
				continue
			case *s.End.Answers[0].Boolean == denied: // deny wins
				t.Fatalf("%+v with %v: it says %v", p, said, *s.End.Answers[0].Boolean)
			}
			end = s.End
			told := map[string]bool{}
			for _, v := range end.Votes {
				if v.Choice != ask.ChoiceWithdrawn {
					told[v.By.Principal] = v.Choice == ask.ChoiceApprove
				}
			}
			if diff := cmp.Diff(said, told); diff != "" {
				t.Fatalf("votes in the outcome (-said +told):\n%s", diff)
			}
		}
		var replayed lifecycle.State
		for _, e := range w.events {
			replayed = lifecycle.Apply(replayed, e)
		}
		if diff := cmp.Diff(w.held, replayed); diff != "" {
			t.Fatalf("replayed (-stored +replayed):\n%s", diff)
		}
	})
}

// count counts by trying every way to use the votes.
func count(p ask.Approval, people []ask.By, said map[string]bool) (approved, denied bool) {
	in := func(from []string, by ask.By) bool { return (&ask.Ask{Audience: from}).Allows(by) }
	var yes, no []ask.By
	for _, by := range people {
		if v, ok := said[by.Principal]; ok && v {
			yes = append(yes, by)
		} else if ok {
			no = append(no, by)
		}
	}
	var reached func(factors []ask.Factor, people []ask.By, distinct bool) bool
	reached = func(factors []ask.Factor, people []ask.By, distinct bool) bool {
		if len(factors) == 0 {
			return true
		}
		f := factors[0]
		if f.Need == 0 {
			return reached(factors[1:], people, distinct)
		}
		if !distinct {
			n := 0
			for _, by := range people {
				if in(f.From, by) {
					n++
				}
			}
			return n >= f.Need && reached(factors[1:], people, distinct)
		}
		for i, by := range people {
			if in(f.From, by) && reached(append([]ask.Factor{{Need: f.Need - 1, From: f.From}}, factors[1:]...), slices.Delete(slices.Clone(people), i, i+1), distinct) {
				return true
			}
		}
		return false
	}
	for _, alt := range p.AnyOf {
		factors := alt.AllOf
		if len(factors) == 0 {
			factors = []ask.Factor{{Need: max(1, alt.Need), From: alt.From}}
		}
		approved = approved || reached(factors, yes, alt.Distinct)
	}
	need, from := 1, []string(nil)
	if p.Deny != nil {
		need, from = p.Deny.Need, p.Deny.From
	}
	n := 0
	for _, by := range no {
		if len(from) == 0 || in(from, by) { // whoever may not approve could not deny either
			n++
		}
	}
	return approved, n >= need
}
