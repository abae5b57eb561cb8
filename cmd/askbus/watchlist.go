package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Events close together cause one read; an agent's credential gets no events and polls; ages keep
// counting.
const (
	watchCalm = 100 * time.Millisecond
	watchPoll = 2 * time.Second
	watchTick = time.Second
)

// watchList keeps a list on the screen until Ctrl-C. As JSON it prints the whole list on one line
// whenever it changes.
func (a *app) watchList(ctx context.Context, b *bus, f listFlags) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, failed := make(chan struct{}, 1), make(chan error, 1)
	signal := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	signal()
	again := (<-chan time.Time)(nil)
	if b.role.Name == natsd.RoleAgent {
		poll := time.NewTicker(watchPoll)
		defer poll.Stop()
		again = poll.C
	} else {
		r, err := a.responder(b)
		if err != nil {
			return err
		}
		go func() { failed <- r.Watch(ctx, func(responder.Event) { signal() }); close(failed) }()
		defer func() {
			cancel()
			for range failed { // until the watch ends
			}
		}()
	}
	s := a.newListScreen()
	defer s.close()
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-again:
			signal()
			continue
		case <-tick.C:
			s.show(false)
			continue
		case <-changed:
		}
		items, more, err := a.listed(ctx, b, f)
		if err == nil {
			s.items, s.more, s.offline = items, more, nil
		} else if ctx.Err() == nil {
			s.offline = err
		}
		s.show(true)
		select {
		case <-ctx.Done():
		case <-time.After(watchCalm):
		}
	}
}

// listScreen shows a followed list.
type listScreen struct {
	a       *app
	items   []ask.Record
	more    bool
	offline error
	last    []byte // as JSON
	full    bool   // on the terminal's alternate screen
}

func (a *app) newListScreen() *listScreen {
	s := &listScreen{a: a, full: !a.json() && isTerminal(a.out)}
	if s.full {
		fmt.Fprint(a.out, "\x1b[?1049h\x1b[?25l")
	}
	return s
}

func (s *listScreen) close() {
	if s.full {
		fmt.Fprint(s.a.out, "\x1b[?25h\x1b[?1049l")
	}
}

// show draws the list; changed says that it was read again.
func (s *listScreen) show(changed bool) {
	if !s.full {
		if changed && s.offline == nil {
			s.print()
		}
		return
	}
	width, height := size(s.a.out)
	text := fmt.Sprintf("%s %d  ·  %s  ·  Ctrl-C ends\n\n", pendingMark, len(s.items), time.Now().Format("15:04:05"))
	switch {
	case s.offline != nil:
		text = fit("the bus is unreachable; this is the last list: "+ask.CleanLine(s.offline.Error()), width) + "\n\n"
	case len(s.items) == 0:
		text += "nothing is waiting\n"
	}
	if len(s.items) > 0 {
		text += table(s.items, width, time.Now())
	}
	if s.more {
		text += "there are more; raise --limit, or narrow with --session\n"
	}
	draw(s.a.out, text, height)
}

// print prints the list if it changed.
func (s *listScreen) print() {
	data, err := encodeList(s.items)
	if err != nil || bytes.Equal(data, s.last) {
		return
	}
	s.last = data
	if s.a.json() {
		s.a.printJSON(data)
		return
	}
	fmt.Fprintf(s.a.out, "%s\n", table(s.items, 0, time.Now()))
}
