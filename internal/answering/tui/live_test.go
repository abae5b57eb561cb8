package tui_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

func TestTheTerminalIsALiveScreen(t *testing.T) {
	t.Parallel()
	respondertest.RunLive(t, func(t *testing.T) respondertest.Screen {
		t.Helper()
		return &live{t: t, ready: make(chan struct{}), programs: map[opened]*program{}}
	})
}

// live implements the suite with terminals on a real bus: for each person the list, and a screen
// for each opened ask, which stays open.
type live struct {
	t     *testing.T
	ready chan struct{}

	ctx   context.Context //nolint:containedctx // that of Run
	r     *responder.Responder
	board *board.Board

	mu       sync.Mutex
	programs map[opened]*program
	running  sync.WaitGroup
}

// opened identifies a screen; without an ask it is the list.
type opened struct {
	principal string
	key       ask.Key
}

func (l *live) Type() string { return "cli" }

func (l *live) Run(ctx context.Context, r *responder.Responder) error {
	l.ctx, l.r, l.board = ctx, r, board.New(r, board.Options{})
	close(l.ready)
	err := l.board.Run(ctx)
	l.running.Wait()
	return err
}

// program is a terminal: Bubble Tea's loop around the model, with input and access to the model.
type program struct {
	*tea.Program
	gone  chan struct{}
	model tea.Model
	last  sync.Mutex // held while the ended screen is inspected: drawing keeps its scroll position
}

// looked is a model that can be inspected between two messages.
type looked struct{ tea.Model }

type lookMsg struct {
	at   func(tea.Model)
	seen chan struct{}
}

func (m looked) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if look, ok := msg.(lookMsg); ok {
		look.at(m.Model)
		close(look.seen)
		return m, nil
	}
	next, cmd := m.Model.Update(msg)
	return looked{next}, cmd
}

func (l *live) open(by ask.By, k ask.Key) *program {
	<-l.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	name := opened{by.Principal, k}
	if p := l.programs[name]; p != nil {
		return p
	}
	m, err := tui.NewModel(tui.Options{
		Source: l.board, Team: l.board, Decider: l.r, By: by, Once: k,
		Viewer: card.Viewer{By: by, Surface: "cli", Zone: time.UTC, Inbox: "http://127.0.0.1:8420"},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	p := &program{
		Program: tea.NewProgram(looked{m}, tea.WithContext(l.ctx), tea.WithInput(nil), tea.WithoutRenderer(), tea.WithoutSignals(), tea.WithWindowSize(400, 3000)),
		gone:    make(chan struct{}), model: m,
	}
	l.programs[name] = p
	within, cancel := context.WithCancel(l.ctx)
	l.running.Go(func() {
		tui.Board(l.board)(within, func() { p.Send(tui.Changed()) })
	})
	l.running.Go(func() {
		defer close(p.gone)
		defer cancel()
		_, _ = p.Run() // told to stop
	})
	return p
}

// look inspects a screen; after the end it inspects the last one.
func (p *program) look(at func(tea.Model)) {
	msg := lookMsg{at, make(chan struct{})}
	p.Send(msg)
	select {
	case <-msg.seen:
	case <-p.gone:
		p.last.Lock()
		defer p.last.Unlock()
		at(p.model)
	}
}

func (l *live) Waiting(by ask.By) (keys []ask.Key) {
	l.open(by, ask.Key{}).look(func(m tea.Model) { keys = tui.Listed(m) })
	return keys
}

func (l *live) Read(by ask.By, k ask.Key) respondertest.Reading {
	p, r := l.open(by, k), respondertest.Reading{Key: k}
	p.wait(l.t, func(m tea.Model) (read bool) {
		read, r.Open = tui.Open(m, k)
		r.Text = plain(tui.Screen(m))
		return read
	})
	return r
}

func (l *live) Choose(by ask.By, from respondertest.Reading, option string) (text string) {
	p := l.open(by, from.Key)
	row := -1
	p.wait(l.t, func(m tea.Model) (read bool) {
		read, _ = tui.Open(m, from.Key)
		row = tui.Row(m, from.Key, option)
		return read
	})
	p.Send(key(strconv.Itoa(row + 1)))
	p.Send(key("enter"))
	p.wait(l.t, func(m tea.Model) bool {
		text = plain(tui.Screen(m))
		// Without the bus the screen says so at once, and keeps trying.
		return !tui.Sending(m, from.Key) || l.board.Status().Offline
	})
	return text
}

// wait waits until a screen satisfies so.
func (p *program) wait(t *testing.T, so func(tea.Model) bool) {
	t.Helper()
	natstest.Eventually(t, "the screen", func() (ok bool) {
		p.look(func(m tea.Model) { ok = so(m) })
		return ok
	})
}
