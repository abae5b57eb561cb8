package person

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
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
func watchList(ctx context.Context, a *cli.App, b *cli.Bus, f ListFlags) error {
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
	if b.Role.Name == rights.RoleAgent {
		poll := time.NewTicker(watchPoll)
		defer poll.Stop()
		again = poll.C
	} else {
		r, err := a.Responder(b)
		if err != nil {
			return err
		}
		go func() { failed <- board.Watch(ctx, r, func(board.Event) { signal() }); close(failed) }()
		defer func() {
			cancel()
			for range failed { // until the watch ends
			}
		}()
	}
	s := newListScreen(a)
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
		items, total, err := Listed(ctx, a, b, f)
		if err == nil {
			s.items, s.total, s.offline = items, total, nil
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
	a       *cli.App
	items   []ask.Record
	total   int // also those that are not listed
	offline error
	last    []byte // as JSON
	full    bool   // on the terminal's alternate screen
}

func newListScreen(a *cli.App) *listScreen {
	s := &listScreen{a: a, full: !a.JSON() && cli.IsTerminal(a.Stdout)}
	if s.full {
		fmt.Fprint(a.Stdout, "\x1b[?1049h\x1b[?25l")
	}
	return s
}

func (s *listScreen) close() {
	if s.full {
		fmt.Fprint(s.a.Stdout, "\x1b[?25h\x1b[?1049l")
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
	width, height := cli.Size(s.a.Stdout)
	text := fmt.Sprintf("%s %d  ·  %s  ·  Ctrl-C ends\n\n", cli.PendingMark, s.total, time.Now().Format("15:04:05"))
	switch {
	case s.offline != nil:
		text = cli.Fit("the bus is unreachable; this is the last list: "+ask.CleanLine(s.offline.Error()), width) + "\n\n"
	case len(s.items) == 0:
		text += "nothing is waiting\n"
	}
	if len(s.items) > 0 {
		text += cli.Table(s.items, width, time.Now())
	}
	if hidden := s.total - len(s.items); hidden > 0 {
		text += fmt.Sprintf("%d more; raise --limit, or narrow with --session\n", hidden)
	}
	cli.Draw(s.a.Stdout, text, height)
}

func (s *listScreen) print() {
	data, err := encodeList(s.items)
	if err != nil || bytes.Equal(data, s.last) {
		return
	}
	s.last = data
	if s.a.JSON() {
		s.a.PrintJSON(data)
		return
	}
	fmt.Fprintf(s.a.Stdout, "%s\n", cli.Table(s.items, 0, time.Now()))
}
