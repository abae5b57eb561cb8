package torture

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// partyProcess runs agents and people in their own process. After a kill, its successor repeats the
// started asks under the same ids.
type partyProcess struct {
	self   string
	d      *driver
	orders orders

	mu     sync.Mutex
	lives  int
	begun  map[int]time.Time // start times of unfinished scripts
	cmd    *exec.Cmd
	done   chan struct{}
	closed bool
}

// resumable is the maximum age of an ask that another process repeats: well within the shortest
// deadline and [DefaultRetention].
const resumable = 4 * time.Second

// party starts a party that plays every other script.
func (p *Processes) party(d *driver, opts Options) (*partyProcess, error) {
	c := &partyProcess{
		self: p.self, d: d, begun: map[int]time.Time{},
		orders: orders{
			Start: d.h.start, End: d.end, Run: d.shape.run, Seed: d.shape.seed, Longest: d.shape.longest, Long: d.shape.long, Votes: d.shape.votes,
			Ladders: d.shape.ladders, Life: d.shape.life,
			From: 1, Step: 2, Asks: opts.Asks, Open: max(1, opts.Open/2), Retention: d.retention, Margin: d.margin, URL: p.urls, Keys: p.keys.Dir(),
		},
	}
	p.child = c
	return c, c.start()
}

func (c *partyProcess) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.lives++
	o := c.orders
	o.Name = "p" + strconv.Itoa(c.lives)
	for i, at := range c.begun {
		if time.Since(at) < resumable {
			o.Resume = append(o.Resume, i)
		} else {
			delete(c.begun, i) // its ask may be forgotten: a repetition would be a new one
		}
	}
	slices.Sort(o.Resume)
	var in bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(o); err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	c.cmd = exec.Command(c.self, "torture", "party") //nolint:gosec,noctx // our own binary; it is ended by name
	c.cmd.Stdin, c.cmd.Stderr, c.cmd.SysProcAttr = &in, os.Stderr, childAttr()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("torture: start a party: %w", err)
	}
	done := make(chan struct{})
	c.done = done
	go func(cmd *exec.Cmd) {
		defer close(done)
		c.read(out)
		_ = cmd.Wait() // reports the kill
	}(c.cmd)
	return nil
}

// read records the party's events.
func (c *partyProcess) read(out io.Reader) {
	dec := gob.NewDecoder(out)
	for {
		var e Event
		if err := dec.Decode(&e); err != nil {
			return // the end, possibly within an event
		}
		switch e.Op { //nolint:exhaustive // the rest is history
		case OpBegun:
			c.mu.Lock()
			i := int(e.Seq) //nolint:gosec // an index
			if c.begun[i].IsZero() {
				c.begun[i] = time.Now()
			}
			c.orders.From = max(c.orders.From, i+2)
			c.mu.Unlock()
			script := c.d.shape.write(i) // a killed party does not report its asks
			e.Key.Tenant, e.Key.Session = script.home()
			e.Key.ID, e.Life = script.ask.ID, script.life()
			c.d.h.add(e)
		case OpOver:
			c.mu.Lock()
			delete(c.begun, int(e.Seq)) //nolint:gosec // an index
			c.mu.Unlock()
		default:
			c.d.h.add(e)
		}
	}
}

// wait waits until the party has finished; a nil party has.
func (c *partyProcess) wait() {
	if c == nil {
		return
	}
	for {
		c.mu.Lock()
		done, lives := c.done, c.lives
		c.mu.Unlock()
		select {
		case <-done:
		case <-time.After(time.Until(c.orders.End) + time.Second):
			return
		}
		c.mu.Lock()
		same := lives == c.lives
		c.closed = c.closed || same
		c.mu.Unlock()
		if same {
			return
		}
	}
}

func (c *partyProcess) close() {
	c.mu.Lock()
	c.closed = true
	cmd, done := c.cmd, c.done
	c.mu.Unlock()
	_ = cmd.Process.Kill()
	<-done
}

// Name implements [Victim].
func (c *partyProcess) Name() string { return "party" }

// Kill implements [Victim].
func (c *partyProcess) Kill(context.Context) error {
	c.mu.Lock()
	cmd, done, closed := c.cmd, c.done, c.closed
	c.mu.Unlock()
	if closed {
		return nil
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("torture: kill a party: %w", err)
	}
	<-done
	return c.start()
}

// Stop implements [Victim].
func (c *partyProcess) Stop(ctx context.Context, d time.Duration) (bool, error) {
	c.mu.Lock()
	cmd := c.cmd
	c.mu.Unlock()
	if err := cmd.Process.Signal(syscall.SIGSTOP); errors.Is(err, os.ErrProcessDone) {
		return false, nil // already exited
	} else if err != nil {
		return false, fmt.Errorf("torture: stop a party: %w", err)
	}
	until(ctx, time.Now().Add(d))
	_ = cmd.Process.Signal(syscall.SIGCONT)
	return true, nil
}
