package respondertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go/jetstream"
)

// contains reports whether s contains part, ignoring case.
func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

var tom = ask.By{Principal: "chat:tom", Name: "Tom"}

// Run runs the suite on a surface that posts, but for the cases that it cannot
// have. newSurface returns a fresh one for each case.
func Run(t *testing.T, newSurface func(t *testing.T) Surface, without ...Without) {
	t.Helper()
	cases := map[string]func(*scene){
		"posts once and shows the outcome":              once,
		"a double click is one answer":                  doubleClick,
		"a late click is told who was first":            lateClick,
		"a click that never arrived leaves it open":     lostClick,
		"a duplicate delivery posts nothing":            duplicate,
		"a crash after posting posts nothing twice":     crash,
		"an ask that ended while posting is closed":     endedWhilePosting,
		"an ask that ended before is not posted":        endedBefore,
		"a service that is down for an hour":            downForAnHour,
		"a service that refuses with retry-after":       refusing,
		"a person outside the audience":                 outsider,
		"a kind it cannot draw is text with a link":     otherKinds,
		"very long and hostile text":                    hostile,
		"two replicas share, a third joins, one dies":   replicas,
		"a replica that stopped is followed by another": handover,
		"votes are shown, moved and counted":            votes,
		"many votes are few edits":                      manyVotes,
	}
	check(t, cases, without)
	for name, run := range cases {
		if left(t, without, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newScene(t, newSurface(t)))
		})
	}
}

func once(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	if p := s.open("a1"); !contains(p.Text, "Which database for a1?") {
		s.t.Errorf("it shows %q", p.Text)
	}
	s.posted("a1")
	s.elsewhere("a1")
	s.closed("a1", "Mei")
}

func doubleClick(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	p := s.open("a1")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { s.surface.Click(s.t.Context(), p, Click{ID: "click1", Option: "pg", By: tom}) })
	}
	both.Wait()
	s.closed("a1", "Tom")
	rec, err := s.own.Get(s.t.Context(), s.key("a1"))
	if err != nil || rec.Outcome == nil || rec.Outcome.By.Principal != tom.Principal || rec.Outcome.By.Responder != s.surface.Type() {
		s.t.Errorf("the outcome is %+v, %v", rec.Outcome, err)
	}
}

func lateClick(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	p := s.open("a1")
	s.posted("a1")
	var blind atomic.Bool
	blind.Store(true)
	s.surface.Intercept(func(c Call) error {
		if c.Op == OpUpdate && blind.Load() {
			return errors.New("not yet")
		}
		return nil
	})
	s.elsewhere("a1")
	if told := s.surface.Click(s.t.Context(), p, Click{ID: "click1", Option: "pg", By: tom}); !contains(told, "Mei") {
		s.t.Errorf("told %q; want who was first", told)
	}
	blind.Store(false)
	s.closed("a1", "Mei")
}

func lostClick(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	s.ask(ask.Ask{ID: "a2"})
	s.open("a1") // clicked, but the click is lost: nothing changes
	p := s.open("a2")
	s.posted("a1")
	s.surface.Click(s.t.Context(), p, Click{ID: "click2", Option: "pg", By: tom})
	s.closed("a2", "Tom")
	s.surface.Click(s.t.Context(), s.open("a1"), Click{ID: "click3", Option: "pg", By: tom})
	s.closed("a1", "Tom")
}

func duplicate(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	s.posted("a1")
	js, err := jetstream.New(s.bus.LedgerAdmin())
	if err != nil {
		s.t.Fatal(err)
	}
	for p := range 4 { // the next replica delivers everything again
		if err := js.DeleteConsumer(s.t.Context(), fmt.Sprintf("ASKS_%02d", p), s.surface.Type()+"-q"); err != nil {
			s.t.Fatal(err)
		}
	}
	s.ask(ask.Ask{ID: "a2"})
	s.posted("a2")
	s.open("a1")
	s.elsewhere("a1")
	s.closed("a1", "Mei")
}

func crash(s *scene) {
	kill, _ := s.replica()
	var died atomic.Bool
	s.surface.Intercept(func(c Call) error {
		if c.Op == OpPost && c.Done && died.CompareAndSwap(false, true) {
			kill()
			return errors.New("the process has died")
		}
		return nil
	})
	s.ask(ask.Ask{ID: "a1"})
	natstest.Eventually(s.t, "it died", died.Load)
	s.replica()
	s.posted("a1")
	s.open("a1")
	s.elsewhere("a1")
	s.closed("a1", "Mei")
}

func endedWhilePosting(s *scene) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	s.surface.Intercept(func(c Call) error {
		if c.Op == OpPost && !c.Done && first.CompareAndSwap(false, true) {
			close(reached)
			<-goOn
		}
		return nil
	})
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	<-reached
	s.elsewhere("a1")
	s.ask(ask.Ask{ID: "a2"}) // the other slots continue
	s.open("a2")
	close(goOn)
	s.closed("a1", "Mei")
}

func endedBefore(s *scene) {
	s.ask(ask.Ask{ID: "a1"})
	s.elsewhere("a1")
	s.replica()
	s.ask(ask.Ask{ID: "a2"})
	s.posted("a2")
	if posts := s.posts("a1"); len(posts) != 0 {
		s.t.Errorf("it was posted: %+v", posts)
	}
}

func downForAnHour(s *scene) {
	began := s.clock.Now()
	calls := map[Op]int{}
	var mu sync.Mutex
	s.surface.Intercept(func(c Call) error {
		if c.Done || s.clock.Now().Sub(began) > time.Hour {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		calls[c.Op]++
		return errors.New("connection refused")
	})
	s.replica()
	for i := range 8 {
		s.ask(ask.Ask{ID: fmt.Sprint("a", i)})
	}
	for i := range 8 {
		s.posted(fmt.Sprint("a", i))
		s.open(fmt.Sprint("a", i))
	}
	mu.Lock()
	defer mu.Unlock()
	if n := calls[OpPost]; n == 0 || n > 600 {
		s.t.Errorf("%d calls while it was down for an hour", n)
	}
}

func refusing(s *scene) {
	var until atomic.Int64
	var early, refused atomic.Int32
	s.surface.Intercept(func(c Call) error {
		if c.Done {
			return nil
		}
		now := s.clock.Now().UnixNano()
		if now < until.Load() {
			early.Add(1)
		}
		if refused.Add(1) <= 3 {
			until.Store(now + int64(20*time.Second))
			return &responder.RetryError{After: 20 * time.Second, Err: errors.New("429")}
		}
		return nil
	})
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	s.posted("a1")
	s.open("a1")
	if n := early.Load(); n > 0 {
		s.t.Errorf("%d calls before Retry-After", n)
	}
}

func outsider(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}})
	p := s.open("a1")
	if told := s.surface.Click(s.t.Context(), p, Click{ID: "c1", Option: "pg", By: tom}); told == "" {
		s.t.Error("the person got no message")
	}
	s.open("a1")
	s.surface.Click(s.t.Context(), p, Click{ID: "c2", Option: "pg", By: ask.By{Principal: "chat:ann", Name: "Ann", Groups: []string{"platform"}}})
	s.closed("a1", "Ann")
}

func otherKinds(s *scene) {
	s.replica()
	for i, q := range []ask.Question{
		{ID: "q", Kind: ask.KindText, Text: "Name it?"},
		{ID: "q", Kind: ask.KindNumber, Text: "How many?"},
		{ID: "q", Kind: ask.KindBoolean, Text: "Ready?"},
		{ID: "q", Kind: ask.KindDate, Text: "When?"},
		{ID: "q", Kind: ask.KindChoice, Multiple: true, Text: "Which ones?", Options: []ask.Option{{ID: "x", Label: "X"}, {ID: "y", Label: "Y"}}},
	} {
		id := fmt.Sprint("k", i)
		s.ask(ask.Ask{ID: id, Questions: []ask.Question{q}})
		if p := s.open(id); !contains(p.Text, q.Text) || !contains(p.Text, Link(s.key(id))) {
			s.t.Errorf("%s: it shows %q", q.Kind, p.Text)
		}
	}
}

func hostile(s *scene) {
	s.replica()
	s.ask(ask.Ask{ID: "h1", Title: "\x1b]0;owned\x07 <script>alert(1)</script> \u202egpj", Context: longText, Questions: []ask.Question{{
		ID: "db", Kind: ask.KindChoice, Text: "<!channel> @everyone " + longText[:9000], Options: []ask.Option{
			{ID: "pg", Label: strings.Repeat("x", 500), Description: "[click](javascript:alert(1))"}, {ID: "lite", Label: "\u200fעברית \x1b[31mred"},
		},
	}}})
	p := s.open("h1")
	if part := control(p.Text); part != "" {
		s.t.Errorf("a control character is shown: %q", part)
	}
	s.posted("h1")
	s.elsewhere("h1")
	s.closed("h1", "Mei")
}

// longText is long and has multi-byte letters.
var longText = strings.Repeat("длинный 长 ", 1200)

// control returns the part of a text around a character that hides or reverses
// text, if there is one.
func control(text string) string {
	i := strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
	if i < 0 {
		return ""
	}
	return text[max(0, i-20):min(len(text), i+20)]
}

func replicas(s *scene) {
	const n = 30
	s.replica()
	kill, _ := s.replica()
	for i := range n {
		s.ask(ask.Ask{ID: fmt.Sprint("a", i)})
		switch i {
		case n / 3:
			s.replica()
		case 2 * n / 3:
			kill()
		}
	}
	for i := range n {
		s.posted(fmt.Sprint("a", i))
		s.open(fmt.Sprint("a", i))
	}
	for i := range n {
		s.elsewhere(fmt.Sprint("a", i))
	}
	for i := range n {
		s.closed(fmt.Sprint("a", i), "Mei")
	}
}

// handover stops a replica as a signal does; the next one continues.
func handover(s *scene) {
	_, stop := s.replica()
	s.ask(ask.Ask{ID: "a1"})
	s.posted("a1")
	stop()
	s.elsewhere("a1")
	s.ask(ask.Ask{ID: "a2"})
	s.replica()
	s.closed("a1", "Mei")
	s.open("a2")
}

// approval asks for two votes of three people.
func approval(id string) ask.Ask {
	return ask.Ask{
		ID: id, Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Migrate " + id + "?", NoOther: true, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}},
		Approval: &ask.Approval{
			AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform", "os:mei"}}}, ApproveOptions: []string{"pg"}, Deny: &ask.Denial{Need: 2},
		},
	}
}

// votes: two people of those who are asked decide, one of them by their group. Everybody sees how far it is.
func votes(s *scene) {
	s.replica()
	s.ask(approval("v1"))
	p := s.open("v1")
	if !contains(p.Text, "0 of 2 approvals") {
		s.t.Errorf("it shows %q", p.Text)
	}
	s.posted("v1")
	says := func(parts ...string) {
		s.t.Helper()
		natstest.Eventually(s.t, fmt.Sprintf("v1 says %q", parts), func() bool {
			p = s.open("v1")
			return !slices.ContainsFunc(parts, func(part string) bool { return !contains(p.Text, part) })
		})
	}
	if told := s.surface.Click(s.t.Context(), p, Click{ID: "v1", Option: "lite", By: tom}); !contains(told, "vote is stored") {
		s.t.Errorf("Tom is told %q", told)
	}
	says("0 of 2 approvals", "1 of 2 denials", "Tom")
	if told := s.surface.Click(s.t.Context(), p, Click{ID: "v2", Option: "pg", By: tom}); !contains(told, "1 of 2 approvals") { // moves it
		s.t.Errorf("Tom is told %q", told)
	}
	says("1 of 2 approvals", "Tom")
	s.surface.Click(s.t.Context(), p, Click{ID: "v3", Option: "pg", By: ask.By{Principal: "chat:ann", Name: "Ann", Groups: []string{"platform"}}})
	s.closed("v1", "Ann")
	if p := s.posts("v1"); len(p) != 1 || !contains(p[0].Text, "Tom") {
		s.t.Errorf("it ends as %+v", p)
	}
	rec, err := s.own.Get(s.t.Context(), s.key("v1"))
	if err != nil || rec.Outcome == nil || len(rec.Outcome.Votes) != 2 || rec.Outcome.Votes[1].By.Groups[0] != "platform" {
		s.t.Errorf("the outcome is %+v, %v", rec.Outcome, err)
	}
}

// manyVotes: what comes while a post is edited is one more edit. The edits that
// begin before all votes are in are held, also those with which a client repeats
// one that it has given up.
func manyVotes(s *scene) {
	const most = 12
	reached, goOn := make(chan struct{}), make(chan struct{})
	var begun sync.Once
	var edits atomic.Int32
	s.surface.Intercept(func(c Call) error {
		if c.Op != OpUpdate || c.Done {
			return nil
		}
		select {
		case <-goOn:
			edits.Add(1)
		default:
			begun.Do(func() { close(reached) })
			<-goOn
		}
		return nil
	})
	s.replica()
	a := approval("v1")
	a.Approval.AnyOf, a.Approval.Deny = []ask.Alternative{{Need: most + 1}}, nil
	s.ask(a)
	s.open("v1")
	s.posted("v1")
	vote := func(i int) {
		_, err := s.other.Answer(s.t.Context(), s.key("v1"), ask.Reply{
			Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: fmt.Sprint("os:p", i), Name: fmt.Sprint("P", i), Proof: "local"},
		})
		if !errors.Is(err, ask.ErrVoted) {
			s.t.Fatal(err)
		}
	}
	vote(0)
	<-reached
	for i := range most - 1 {
		vote(i + 1)
	}
	// The replica has got all of them before its edit goes on, however slow the machine is.
	work := ledger.NewWork(s.bus.Ledger())
	natstest.Eventually(s.t, "each vote has reached the replica", func() bool {
		all, err := work.Backlog(s.t.Context())
		return err == nil && all[s.surface.Type()].Questions == 0
	})
	close(goOn)
	natstest.Eventually(s.t, "all votes are shown", func() bool { return contains(s.open("v1").Text, fmt.Sprintf("%d of %d approvals", most, most+1)) })
	if n := edits.Load(); n > 1 {
		s.t.Errorf("%d votes, all but one of them while a post was edited, are %d more edits", most, n)
	}
}
