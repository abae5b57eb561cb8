package respondertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// Chat is a [Surface] where people also write.
type Chat interface {
	Surface
	// Write lets a person write words below the post, addressed as the chat wants it: in its thread, or as a reply to it. It
	// returns what that person is told, if anything.
	Write(ctx context.Context, p Post, words string, by ask.By) string
	// Delete deletes the post, as a person may.
	Delete(p Post)
	// Revoke makes the platform refuse the token.
	Revoke()
	// Said returns what the surface wrote: the place and a space, then the words, with the principal of everybody whom they
	// notify, such as "chat:ann".
	Said() []string
	// Files returns the names of the files that the platform got. Takes is false where the surface sends none, and its
	// cards only name them and lead to them.
	Files() (names []string, takes bool)
	// Ready returns what the replica that started last says of itself.
	Ready() error
}

// Everybody stands in [Chat.Said] for a notice to all who are in a place, which no agent may cause.
const Everybody = "(everybody)"

// RunChat runs the cases of a chat that [Run] has not: run both. A new chat is one more implementation of [Chat] at its
// fake, with Tom (chat:tom) and Ann (chat:ann, of the group platform) as its people, as those of Slack and Telegram.
//
// Together they are the list of the field research: acknowledged while the store is away; the same click twice; after a
// restart; on an ended ask; by somebody who may not; words in any case, and unknown ones; nobody configured; 500 outcomes
// while the platform refuses; too long; too many options; a message that was deleted; a revoked token. And a step of the ladder is told to whom it names.
func RunChat(t *testing.T, newChat func(t *testing.T) Chat, without ...Without) {
	t.Helper()
	cases := map[string]func(*chatScene){
		"a click while no broker answers is acknowledged": storeAway,
		"a click after a restart":                         afterRestart,
		"words in any case, and unknown ones":             words,
		"nobody is there":                                 nobody,
		"500 outcomes while the platform refuses":         manyOutcomes,
		"more options than the platform has buttons":      manyOptions,
		"a message that was deleted":                      deleted,
		"a revoked token":                                 revoked,
		"a step of the ladder is told once":               ladder,
		"one person decides alone, and all are told":      alone,
		"files are named, and sent once":                  files,
		"a permission is shown whole, or not given":       permission,
	}
	check(t, cases, without)
	for name, run := range cases {
		if left(t, without, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newChatScene(t, newChat(t)))
		})
	}
}

// chatScene is a scene with a chat, and a broker that can be stopped.
type chatScene struct {
	*scene
	chat   Chat
	broker func()
}

func newChatScene(t *testing.T, c Chat) *chatScene {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: lease}, NoBroker: true})
	sc := &chatScene{chat: c, broker: b.Broker(broker.Options{})}
	agent, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	sc.scene = &scene{t: t, bus: b, surface: c, clock: &Clock{now: time.Now()}, agent: agent.Session("acme", "s1")}
	sc.other, _ = sc.responder("elsewhere")
	sc.own, _ = sc.responder(c.Type())
	return sc
}

// storeAway: a click whose answer cannot be stored is acknowledged in the time that people wait, and decides nothing; the
// same person answers once there is a broker.
func storeAway(s *chatScene) {
	_, stop := s.replica()
	s.ask(ask.Ask{ID: "a1"})
	p := s.open("a1")
	s.posted("a1")
	s.broker()
	ctx, cancel := context.WithTimeout(s.t.Context(), waittest.Limit)
	defer cancel()
	s.surface.Click(ctx, p, Click{ID: "c1", Option: "pg", By: tom})
	if ctx.Err() != nil {
		s.t.Fatal("the click was never acknowledged")
	}
	s.bus.Broker(broker.Options{})
	natstest.Eventually(s.t, "the card can be answered or is", func() bool {
		posts := s.posts("a1")
		return len(posts) == 1
	})
	if p := s.posts("a1")[0]; p.Open {
		s.surface.Click(s.t.Context(), p, Click{ID: "c2", Option: "pg", By: tom})
	}
	s.closed("a1", "Tom")
	stop() // while there is a broker, for which the first click still waits
}

func afterRestart(s *chatScene) {
	_, stop := s.replica()
	s.ask(ask.Ask{ID: "a1"})
	p := s.open("a1")
	s.posted("a1")
	stop()
	s.replica()
	s.ask(ask.Ask{ID: "a2"})
	s.open("a2") // the new one works
	s.surface.Click(s.t.Context(), p, Click{ID: "c1", Option: "pg", By: tom})
	s.closed("a1", "Tom")
}

// words answer in any case where they are addressed; others ask again, and decide nothing.
func words(s *chatScene) {
	s.replica()
	for i, said := range []string{"answer: postgresql", "ANSWER: PostgreSQL", "Answer: 1"} {
		id := fmt.Sprint("a", i)
		s.ask(ask.Ask{ID: id})
		p := s.open(id)
		s.posted(id)
		for _, talk := range []string{"no idea, allow?", "ответ: да", "答案：也许"} {
			s.chat.Write(s.t.Context(), p, talk, tom)
		}
		s.open(id) // talk has decided nothing
		s.chat.Write(s.t.Context(), p, said, tom)
		s.closed(id, "Tom")
		rec, err := s.own.Get(s.t.Context(), s.key(id))
		if err != nil || rec.Outcome == nil || rec.Outcome.Status != ask.StatusAnswered || len(rec.Outcome.Answers) != 1 || rec.Outcome.Answers[0].Selected[0] != "pg" {
			s.t.Errorf("%q: the outcome is %+v, %v", said, rec.Outcome, err)
		}
	}
}

// nobody: an agent that needs somebody is told at once that there is nobody.
func nobody(s *chatScene) {
	if _, err := s.agent.Ask(s.t.Context(), ask.Ask{ID: "a1", RequireResponder: true, Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Well?"}}}); !errors.Is(err, ask.ErrNobody) {
		s.t.Errorf("the error is %v", err)
	}
}

// manyOutcomes: every third call is refused with a pause that must be kept; no card stays open.
func manyOutcomes(s *chatScene) {
	const n = 500 / waittest.Fewer
	s.replica()
	for i := range n {
		s.ask(ask.Ask{ID: fmt.Sprint("a", i)})
	}
	for i := range n {
		s.posted(fmt.Sprint("a", i))
	}
	var calls, refused, early atomic.Int64
	var until atomic.Int64
	var updated sync.Map // keys
	var all atomic.Int64
	s.surface.Intercept(func(c Call) error {
		if c.Op != OpUpdate {
			return nil
		}
		if c.Done {
			if _, before := updated.LoadOrStore(c.Key, true); !before {
				all.Add(1)
			}
			return nil
		}
		now := s.clock.Now().UnixNano()
		if now < until.Load() {
			early.Add(1)
		}
		if calls.Add(1)%50 != 0 {
			return nil
		}
		refused.Add(1)
		until.Store(now + int64(5*time.Second))
		return &responder.RetryError{After: 5 * time.Second, Err: errors.New("429")}
	})
	for i := range n {
		s.elsewhere(fmt.Sprint("a", i))
	}
	natstest.Eventually(s.t, "every card was updated", func() bool { return all.Load() == n })
	posts := s.surface.Posts()
	if len(posts) != n {
		s.t.Errorf("%d posts of %d asks", len(posts), n)
	}
	for _, p := range posts {
		if p.Open {
			s.t.Errorf("open after its update: %+v", p)
		}
	}
	if n := early.Load(); n > 3*refused.Load() { // of four at once, the others under way when one was refused
		s.t.Errorf("%d calls in %d pauses", n, refused.Load())
	}
}

func manyOptions(s *chatScene) {
	s.replica()
	q := ask.Question{ID: "db", Kind: ask.KindChoice, Text: "Which of many?"}
	for i := range ask.MaxOptions {
		q.Options = append(q.Options, ask.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint("Option ", i)})
	}
	s.ask(ask.Ask{ID: "a1", Questions: []ask.Question{q}})
	p := s.open("a1")
	s.posted("a1")
	if !strings.Contains(p.Text, Link(s.key("a1"))) && !strings.Contains(p.Text, fmt.Sprint("Option ", ask.MaxOptions-1)) {
		s.t.Errorf("it shows neither all options nor a link: %q", p.Text)
	}
	s.chat.Write(s.t.Context(), p, fmt.Sprintf("answer: %s", strings.ToUpper(q.Options[ask.MaxOptions-1].Label)), tom)
	s.closed("a1", "Tom")
}

// deleted: an outcome whose message is gone is not tried for ever, and holds nothing else up.
func deleted(s *chatScene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	p := s.open("a1")
	s.posted("a1")
	s.chat.Delete(p)
	var calls atomic.Int64
	s.surface.Intercept(func(c Call) error {
		if !c.Done && c.Op == OpUpdate && c.Key == p.Key {
			calls.Add(1)
		}
		return nil
	})
	s.elsewhere("a1")
	for i := range 10 {
		id := fmt.Sprint("b", i)
		s.ask(ask.Ask{ID: id})
		s.open(id)
		s.posted(id)
		s.elsewhere(id)
		s.closed(id, "Mei")
	}
	if n := calls.Load(); n > 3 {
		s.t.Errorf("%d edits of a message that is gone", n)
	}
}

// ladder: a step is told to whom it names, once in a place however many replicas there are. What the agent wrote notifies nobody.
func ladder(s *chatScene) {
	s.replica()
	s.replica()
	s.ask(ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Deploy @everyone <!channel> <at user_id=\"all\">all</at>?", Options: []ask.Option{{ID: "pg", Label: "Yes"}, {ID: "lite", Label: "No"}}}},
		Audience: []string{"chat:tom", "chat:ann", "os:mei"}, Escalate: []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"chat:ann"}}},
	})
	s.posted("a1")
	s.bus.BrokerAhead(func() time.Duration { return 11 * time.Minute }, broker.Options{})
	natstest.Eventually(s.t, "the receipt has the step", func() bool {
		rec, err := s.own.Get(s.t.Context(), s.key("a1"))
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].Step == 1
	})
	told, ann := map[string]bool{}, false
	for _, said := range s.chat.Said() {
		place, words, _ := strings.Cut(said, " ")
		if !strings.Contains(words, "Nobody has decided this yet") {
			continue
		}
		if told[place] || strings.Contains(words, Everybody) {
			s.t.Errorf("in %s it is told twice, or to everybody: %q", place, words)
		}
		told[place], ann = true, ann || strings.Contains(words, "chat:ann")
	}
	if !ann {
		s.t.Errorf("Ann is not told: %q", s.chat.Said())
	}
	s.elsewhere("a1")
	s.closed("a1", "Mei")
}

// alone: somebody with a break-glass role cannot use it in a chat, and is told where; when it was used elsewhere, the card
// says so, and everybody whom the ask names is told once in a place. The reason notifies nobody.
func alone(s *chatScene) {
	f, err := approvals.Parse([]byte(`break_glass: [ { name: incident, from: ["os:mei", "chat:tom"], min_proof: os, reason: { pattern: "^INC-" } } ]`))
	if err != nil {
		s.t.Fatal(err)
	}
	s.broker()
	s.bus.Broker(broker.Options{Approvals: func() *approvals.File { return f }})
	s.replica()
	s.replica()
	s.ask(ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Which database?", NoOther: true, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:ann", "os:jo"}}}, ApproveOptions: []string{"pg"}},
	})
	p := s.open("a1")
	s.posted("a1")
	if told := s.surface.Click(s.t.Context(), p, Click{ID: "c1", Option: "pg", By: tom}); !strings.Contains(told, "break-glass") || !strings.Contains(told, "inbox") {
		s.t.Errorf("somebody with the role is told %q", told)
	}
	s.open("a1")
	_, err = s.other.Answer(s.t.Context(), s.key("a1"), ask.Reply{
		AnswerID: "w1", By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}},
		BreakGlass: &ask.BreakGlass{Reason: "INC-7 @everyone <!channel> <at user_id=\"all\">all</at>"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.closed("a1", "Mei decided alone (break-glass)")
	natstest.Eventually(s.t, "the receipt says that it is told", func() bool {
		rec, err := s.own.Get(s.t.Context(), s.key("a1"))
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].Step == ask.MaxSteps+1
	})
	places, ann := map[string]bool{}, false
	for _, said := range s.chat.Said() {
		place, words, _ := strings.Cut(said, " ")
		if !s.tellsOfAlone(words) {
			continue
		}
		if places[place] || strings.Contains(words, Everybody) {
			s.t.Errorf("in %s it is told twice, or to everybody: %q", place, words)
		}
		places[place], ann = true, ann || strings.Contains(said, "chat:ann")
	}
	if !ann {
		s.t.Errorf("Ann is not told: %q", s.chat.Said())
	}
}

// tellsOfAlone reports whether words that a surface wrote tell somebody that one person decided the ask of [alone], and
// which: below its card in a chat, which is not the card itself. A mail cannot be edited, so that the mail that says how the ask
// ended tells it, in the sentence of every surface.
func (s *chatScene) tellsOfAlone(words string) bool {
	words = strings.ReplaceAll(words, "\u200b", "") // what keeps text literal is not read
	if s.chat.Type() == "email" {
		return strings.HasPrefix(words, "Which database?\r\n") && strings.Contains(words, "\nApproved: PostgreSQL · Mei decided alone (break-glass): INC-7 ")
	}
	return strings.Contains(words, "Mei decided alone") && strings.Contains(words, "It was: ") && strings.Contains(words, "Which database?")
}

// files: evidence and an option's file are on the card, as text, and where the platform takes files each is sent once, also
// if two places of the ask refer to it.
func files(s *chatScene) {
	s.replica()
	upload := func(name string, data []byte) ask.File {
		f, err := s.agent.Upload(s.t.Context(), name, data)
		if err != nil {
			s.t.Fatal(err)
		}
		return f
	}
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		s.t.Fatal(err)
	}
	shot, log := upload("@everyone before.png", dot.Bytes()), upload("server.txt", []byte("it was here\n"))
	s.ask(ask.Ask{ID: "a1", Files: []ask.File{shot, log}, Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Which looks right?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", File: &shot}, {ID: "lite", Label: "SQLite"}}}}})
	p := s.open("a1")
	s.posted("a1")
	for _, name := range []string{"before.png", "server.txt", "TXT, 12 B"} {
		if !contains(p.Text, name) {
			s.t.Errorf("%s is not in %q", name, p.Text)
		}
	}
	for _, said := range s.chat.Said() {
		if strings.Contains(said, Everybody) {
			s.t.Errorf("a file's name notifies everybody: %q", said)
		}
	}
	natstest.Eventually(s.t, "the platform has the files", func() bool {
		names, takes := s.chat.Files()
		return !takes || len(names) >= 2
	})
	if names, takes := s.chat.Files(); takes && (len(names) != 2 || !strings.HasSuffix(names[0], "before.png") || !strings.HasSuffix(names[1], "server.txt")) {
		s.t.Errorf("the platform got %q", names)
	}
}

// permission: nobody permits a command in a chat that does not show it whole, with a button or with words; who refuses it may.
// A mail's link leads to a page that shows it whole.
func permission(s *chatScene) {
	s.replica()
	command := func(id string, lines int) (all []string) {
		for i := range lines {
			all = append(all, fmt.Sprintf("step-%05d", i))
		}
		s.ask(ask.Ask{
			ID: id, Context: "```sh\n" + strings.Join(all, "\n") + "\n```", Metadata: map[string]any{ask.MetadataPermission: "x", ask.MetadataDenies: []string{"lite"}},
			Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "May it use this?", NoOther: true, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Description: "Only this once."}, {ID: "lite", Label: "SQLite"}}}},
		})
		s.posted(id)
		return all
	}
	short := command("short", 180)
	p := s.open("short")
	for _, line := range short {
		if !strings.Contains(p.Text, line) {
			s.t.Fatalf("%q is not in %q", line, p.Text)
		}
	}
	s.surface.Click(s.t.Context(), p, Click{ID: "c1", Option: "pg", By: tom})
	s.closed("short", "Tom")

	long := command("long", 5_000)
	p = s.open("long")
	mail := s.chat.Type() == "email" // its text is all of it, but not what most people see of it
	if !mail && (!contains(p.Text, "too long to be shown whole here") || !contains(p.Text, Link(s.key("long"))) || strings.Contains(p.Text, long[4_000])) {
		s.t.Errorf("it does not say that it is cut, and where all of it is: %.3000q", p.Text)
	}
	s.chat.Write(s.t.Context(), p, "answer: PostgreSQL", tom)
	s.chat.Write(s.t.Context(), p, "answer: 1", tom)
	if mail {
		natstest.Eventually(s.t, "Tom is told that a reply does not permit it", func() bool { return contains(strings.Join(s.chat.Said(), " "), "a reply does not permit it") })
	} else {
		s.surface.Click(s.t.Context(), p, Click{ID: "c2", Option: "pg", By: tom})
	}
	p = s.open("long")
	s.surface.Click(s.t.Context(), p, Click{ID: "c3", Option: "lite", By: tom})
	s.closed("long", "Tom")
	rec, err := s.own.Get(s.t.Context(), s.key("long"))
	if err != nil || rec.Outcome == nil || len(rec.Outcome.Answers) != 1 || rec.Outcome.Answers[0].Selected[0] != "lite" {
		s.t.Errorf("the outcome is %+v, %v", rec.Outcome, err)
	}

	// What is no permission can be answered there, and the card says that there is more, and where.
	s.ask(ask.Ask{ID: "cut", Context: strings.Repeat("a long line of what led to it\n", 2_000), Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Go on?"}}})
	s.posted("cut")
	p = s.open("cut")
	if !mail && !contains(p.Text, "Not everything fits here") || !contains(p.Text, Link(s.key("cut"))) {
		s.t.Errorf("it does not say that it is cut, and where all of it is: %.3000q", p.Text)
	}
}

func revoked(s *chatScene) {
	s.replica()
	s.ask(ask.Ask{ID: "a1"})
	s.open("a1")
	natstest.Eventually(s.t, "it is ready", func() bool { return s.chat.Ready() == nil })
	s.chat.Revoke()
	s.ask(ask.Ask{ID: "a2"}) // which it cannot post
	natstest.Eventually(s.t, "it is not ready", func() bool { return s.chat.Ready() != nil })
}
