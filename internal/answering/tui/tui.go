package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/charmbracelet/colorprofile"
)

// Terminal is the terminal of the screen. The zero value is the process's own.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Env     []string // such as TERM=xterm and COLORFGBG=15;0
	Width   int
	Height  int
	Resized <-chan [2]int // resize events of a terminal that is not the process's own
}

// calm is how long changes are collected before the screen is redrawn.
const calm = 50 * time.Millisecond

// Run shows the inbox until the person quits or ctx ends. With Once or First it returns the
// outcome, or nil if the ask was left open.
func Run(ctx context.Context, t Terminal, opts Options, events func(ctx context.Context, changed func())) (*ask.Outcome, error) {
	m, err := newModel(opts)
	if err != nil {
		return nil, err
	}
	if opts.Theme == "" || opts.Theme == ThemeAuto {
		m.theme = themeOf(t.getenv("COLORFGBG"))
		m.restyle()
	}
	p := tea.NewProgram(m, t.options(ctx)...)
	within, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	told := make(chan struct{})
	go func() {
		defer close(told)
		events(within, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		pass(within, p, changed, t.Resized)
	}()
	_, err = p.Run()
	unsent := m.flush() //nolint:contextcheck // the person has decided: a closed terminal does not take it back
	m.keepDrafts()
	cancel()
	<-told
	<-passed
	switch {
	case m.failed != nil:
		return nil, m.failed
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return m.outcome, unsent // stopped
	}
	return m.outcome, errors.Join(err, unsent)
}

// pass forwards external changes to the program and merges frequent ones.
func pass(ctx context.Context, p *tea.Program, changed <-chan struct{}, resized <-chan [2]int) {
	for {
		select {
		case <-ctx.Done():
			return
		case size := <-resized:
			p.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		case <-changed:
			p.Send(changedMsg{})
			select {
			case <-ctx.Done():
				return
			case <-time.After(calm):
			}
		}
	}
}

func (t Terminal) options(ctx context.Context) []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithContext(ctx)}
	if t.In != nil {
		// The output is no file, so whether it has colors is asked of the environment alone.
		options = append(options, tea.WithInput(t.In), tea.WithOutput(newlines{t.Out}), tea.WithEnvironment(t.Env), tea.WithColorProfile(colorprofile.Env(t.Env)),
			tea.WithWindowSize(t.Width, t.Height), tea.WithoutSignals())
	}
	return options
}

func (t Terminal) getenv(name string) string {
	for _, v := range slices.Backward(t.Env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// newlines replaces \n by \r\n for a terminal without a line discipline.
type newlines struct{ io.Writer }

func (w newlines) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Board returns a function that reports the changes of the kit's board, for [Run].
func Board(b *board.Board) func(ctx context.Context, changed func()) {
	return func(ctx context.Context, changed func()) {
		b.Subscribe(ctx, board.Filter{}, func(board.Event) { changed() })
	}
}
