package tui_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

var began = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// bus is an in-memory source and decider; the kit's board and its responder have their own tests.
type bus struct {
	mu      sync.Mutex
	records []ask.Record
	ended   []ask.Record
	over    []ask.Record // ended before the screens that are open now
	offline bool
	reading bool // not synchronised yet
	sent    []ask.Reply
	refuse  []error
}

func (b *bus) Pending(_ board.Filter, offset, limit int) ([]board.Head, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var heads []board.Head
	for i := range b.records {
		a := &b.records[i].Ask
		if i >= offset && len(heads) < limit {
			heads = append(heads, board.Head{
				Key: a.Key(), Life: b.records[i].Life, Heading: card.Heading(a), Agent: a.Agent.Name, Priority: a.Priority, AskedAt: b.records[i].AskedAt, Deadline: b.records[i].Ask.Deadline,
				Approval: a.Approval, Votes: b.records[i].Votes,
			})
		}
	}
	return heads, len(b.records)
}

func (b *bus) Ended(board.Filter) []ask.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ended)
}

func (b *bus) Get(_ context.Context, k ask.Key) (ask.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rec := range b.records {
		if rec.Ask.Key() == k {
			return rec, nil
		}
	}
	for _, rec := range b.over {
		if rec.Ask.Key() == k {
			return rec, nil
		}
	}
	return ask.Record{}, ask.ErrNotFound
}

func (b *bus) Status() board.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return board.Status{Synced: !b.reading, Offline: b.offline, Pending: len(b.records)}
}

func (b *bus) Learn(rec ask.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = slices.DeleteFunc(b.records, func(r ask.Record) bool { return r.Ask.Key() == rec.Ask.Key() })
	b.ended = append([]ask.Record{rec}, b.ended...)
}

func (b *bus) Answer(_ context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, r)
	if err := b.refusal(); err != nil {
		return ask.Outcome{}, err
	}
	r.By.Responder = "cli"
	return ask.Outcome{AskID: k.ID, Status: ask.StatusAnswered, At: began.Add(5 * time.Minute), By: &r.By, Answers: r.Answers, Response: r.Response, Source: ask.SourceHuman}, nil
}

func (b *bus) Cancel(_ context.Context, k ask.Key, d responder.Decline) (ask.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, ask.Reply{AnswerID: d.AnswerID, Response: "declined: " + d.Reason})
	d.By.Responder = "cli"
	return ask.Outcome{AskID: k.ID, Status: ask.StatusCancelled, At: began.Add(5 * time.Minute), By: &d.By, Reason: d.Reason}, nil
}

// refusal returns the next error of refuse, if any.
func (b *bus) refusal() error {
	if len(b.refuse) == 0 {
		return nil
	}
	err := b.refuse[0]
	b.refuse = b.refuse[1:]
	return err
}

// Unvote takes a vote back.
func (b *bus) Unvote(_ context.Context, k ask.Key, _ string, by ask.By) ([]ask.Vote, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refusal(); err != nil {
		return nil, err
	}
	for i := range b.records {
		if rec := &b.records[i]; rec.Ask.Key() == k {
			rec.Votes = slices.Clone(rec.Votes)
			for j := range rec.Votes {
				if rec.Votes[j].By.Principal == by.Principal {
					rec.Votes[j].Choice = ask.ChoiceWithdrawn
				}
			}
			return rec.Votes, nil
		}
	}
	return nil, ask.ErrNotFound
}

// replies returns the sent replies.
func (b *bus) replies() []ask.Reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

// end ends an ask elsewhere.
func (b *bus) end(id string, o ask.Outcome) {
	b.mu.Lock()
	var rec ask.Record
	for _, r := range b.records {
		if r.Ask.ID == id {
			rec = r
		}
	}
	b.mu.Unlock()
	rec.State, rec.Outcome = ask.StateResolved, &o
	b.Learn(rec)
}

// asked adds a pending ask.
func (b *bus) asked(a ask.Ask) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.ID == "" {
		a.ID = fmt.Sprint("a", len(b.records)+1)
	}
	if a.Session == "" {
		a.Session = "build-42"
	}
	a.Tenant = ask.DefaultTenant
	if a.Agent.Name == "" {
		a.Agent.Name = "claude-code"
	}
	a.Questions = slices.Clone(a.Questions) // other scenes ask the same, at the same time
	for i := range a.Questions {
		a.Questions[i].Options = slices.Clone(a.Questions[i].Options)
		for j, o := range a.Questions[i].Options {
			if o.Preview != nil {
				own := *o.Preview
				a.Questions[i].Options[j].Preview = &own
			}
		}
	}
	a.Normalize()
	b.records = append(b.records, ask.Record{State: ask.StatePending, Ask: a, AskedAt: began, Life: "life-" + a.ID})
}

// again asks an id again.
func (b *bus) again(a ask.Ask) {
	b.mu.Lock()
	drop := func(r ask.Record) bool { return r.Ask.ID == a.ID }
	b.records, b.ended = slices.DeleteFunc(b.records, drop), slices.DeleteFunc(b.ended, drop)
	b.mu.Unlock()
	b.asked(a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records[len(b.records)-1].Life = "another"
}

func mei() ask.By { return ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"} }

func options(b *bus) tui.Options {
	return tui.Options{
		Source: b, Decider: b, By: mei(), Viewer: card.Viewer{Surface: "cli", Zone: time.UTC, Inbox: "http://127.0.0.1:8420"},
		Now: func() time.Time { return began.Add(5 * time.Minute) },
	}
}

// screen drives a model without a terminal: it runs each command of Update at once, except timers.
type screen struct {
	t   *testing.T
	m   tea.Model
	raw []string // what was written beside the screen

	hasty bool // presses keys before an ask that slid in was seen

	patience time.Duration // of the commands that are not timers; default 20 ms

	slow bool      // records arrive when arrive is called
	late []tea.Msg // those that have not
}

func newScreen(t *testing.T, opts tui.Options, width, height int) *screen {
	t.Helper()
	m, err := tui.NewModel(opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, m: m}
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.send(tui.Changed())
	return s
}

// send sends a message, in virtual time: working commands finish before any timer, however busy the
// machine is.
func (s *screen) send(msg tea.Msg) {
	synctest.Test(s.t, func(*testing.T) {
		s.update(msg)
		time.Sleep(24 * time.Hour) // timers that nobody heeds end
	})
}

func (s *screen) update(msg tea.Msg) {
	var cmd tea.Cmd
	s.m, cmd = s.m.Update(msg)
	s.run(cmd)
}

func (s *screen) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	got := make(chan tea.Msg, 1)
	go func() { got <- cmd() }()
	select {
	case msg := <-got:
		switch msg := msg.(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				s.run(c)
			}
		case tea.RawMsg:
			s.raw = append(s.raw, fmt.Sprint(msg.Msg))
		case tea.QuitMsg, nil:
		default:
			if v := reflect.ValueOf(msg); v.Type().ConvertibleTo(reflect.TypeFor[[]tea.Cmd]()) { // a sequence
				for _, c := range v.Convert(reflect.TypeFor[[]tea.Cmd]()).Interface().([]tea.Cmd) {
					s.run(c)
				}
				return
			}
			if s.slow && tui.IsRecord(msg) {
				s.late = append(s.late, msg)
				return
			}
			s.update(msg)
		}
	case <-time.After(cmp.Or(s.patience, 20*time.Millisecond)): // a timer
	}
}

// arrive delivers the records that were read slowly.
func (s *screen) arrive() {
	late := s.late
	s.slow, s.late = false, nil
	for _, msg := range late {
		s.send(msg)
	}
}

// keys presses keys by name, separated by spaces.
func (s *screen) keys(names string) *screen {
	for name := range strings.FieldsSeq(names) {
		if !s.hasty {
			tui.Settle(s.m)
		}
		s.send(key(name))
	}
	return s
}

// typed types a text.
func (s *screen) typed(text string) *screen {
	if !s.hasty {
		tui.Settle(s.m)
	}
	for _, r := range text {
		s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return s
}

func key(name string) tea.KeyPressMsg {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace, "home": tea.KeyHome}
	if code, ok := named[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: ' ', Text: " "}
	}
	if name == "alt+enter" {
		return tea.KeyPressMsg{Code: tea.KeyEnter, Mod: tea.ModAlt}
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

func (s *screen) text() string { return tui.Screen(s.m) }

func (s *screen) has(want ...string) *screen {
	s.t.Helper()
	got := plain(s.text())
	for _, w := range want {
		if !strings.Contains(got, w) {
			s.t.Errorf("no %q on the screen:\n%s", w, got)
		}
	}
	return s
}

func (s *screen) hasNot(want ...string) {
	s.t.Helper()
	got := plain(s.text())
	for _, w := range want {
		if strings.Contains(got, w) {
			s.t.Errorf("%q on the screen:\n%s", w, got)
		}
	}
}
