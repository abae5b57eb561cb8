package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// Large is the result of "askbus up" with large pending asks and little memory.
type Large struct {
	Machine  Machine `json:"machine"`
	Asks     int     `json:"asks"`
	Body     int64   `json:"body_bytes"` // of each ask
	Disk     int64   `json:"disk_bytes"`
	Limit    int64   `json:"limit_bytes"`
	Enforced string  `json:"enforced"`       // how
	Asked    float64 `json:"asked_per_s"`    // through a broker
	First    int64   `json:"first_rss_peak"` // after the first 379 asks
	RSS      int64   `json:"rss_bytes"`      // with all of them pending
	Listed   int     `json:"listed"`         // on a live screen, as heads
	Heads    float64 `json:"listed_s"`
	Whole    int     `json:"listed_whole"` // with their bodies, page by page
	Bodies   float64 `json:"listed_whole_s"`
	Read     Times   `json:"read"`   // of one ask with its body, any of them
	Answer   Times   `json:"answer"` // of one of them
	Restart  float64 `json:"first_ask_after_kill_s"`
	Again    int64   `json:"again_rss_peak"` // of the process that was started again
	Peak     int64   `json:"rss_peak"`       // of the first process
}

// Write prints the report.
func (l Large) Write(out io.Writer) error {
	return lines(out, "machine", l.Machine, "pending", fmt.Sprintf("%d asks of %s, %s on disk", l.Asks, mib(l.Body), mib(l.Disk)), "memory limit", mib(l.Limit)+", "+l.Enforced,
		"asked per second", round(l.Asked), "peak of resident memory after 379", mib(l.First), "resident memory, all pending", mib(l.RSS), "listed", fmt.Sprintf("%d in %.0f s, and %d with their bodies in %.0f s", l.Listed, l.Heads, l.Whole, l.Bodies),
		"reading one", l.Read, "answering one", l.Answer, "peak of resident memory", mib(l.Peak),
		"first ask after SIGKILL", fmt.Sprintf("%.1f s", l.Restart), "peak of resident memory then", mib(l.Again))
}

// largeFirst is a number of asks of 200 kB that once took 773 MiB.
const largeFirst = 379

// MeasureLarge starts "askbus up" with a memory limit, and leaves n asks of body
// bytes pending. Then it lists them, reads and answers some, kills the process and
// starts it again with the same limit. An error means that a request failed or
// that the process ended.
func MeasureLarge(ctx context.Context, program Program, dir string, n int, body, limit int64, plan Plan) (l Large, err error) {
	plan.fill()
	if dir, err = os.MkdirTemp(dir, "askbus-bench-"); err != nil {
		return l, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	l = Large{Machine: ThisMachine(), Asks: n, Body: body, Limit: limit}
	group, why := newMemoryGroup(limit)
	defer group.remove()
	if l.Enforced = "enforced by a cgroup"; why != nil {
		l.Enforced = "not enforced: " + why.Error()
	}
	limited := func(ctx context.Context, args ...string) *exec.Cmd {
		if why == nil {
			return group.within(ctx, program(ctx, args...))
		}
		cmd := program(ctx, args...)
		cmd.Env = append(cmd.Environ(), "GOMEMLIMIT="+strconv.FormatInt(limit/100*60, 10)) // as it sets itself in a group
		return cmd
	}
	p, err := startProcess(ctx, limited, dir, "up", upArgs()...)
	if err != nil {
		return l, err
	}
	defer p.kill()
	if err := p.large(ctx, &l, plan); err != nil {
		return l, fmt.Errorf("%w (peak of resident memory: %s)", err, mib(p.peak()))
	}
	l.Peak, l.Disk = p.peak(), p.disk()
	plan.Progress("killed; starting again")
	began := time.Now()
	p.kill()
	again, err := startProcess(ctx, limited, dir, "up", upArgs()...)
	if err != nil {
		return l, err
	}
	defer again.kill()
	if err := again.ask(ctx); err != nil {
		return l, err
	}
	l.Restart, l.Again = time.Since(began).Seconds(), again.peak()
	return l, nil
}

func (p *process) large(ctx context.Context, l *Large, plan Plan) error {
	bed, err := p.bed(crowd)
	if err != nil {
		return err
	}
	defer bed.Close()
	began := time.Now()
	first := min(l.Asks, largeFirst)
	ids, err := bed.askLarge(ctx, 0, first, l.Body, plan)
	if err != nil {
		return err
	}
	l.First = p.peak()
	more, err := bed.askLarge(ctx, first, l.Asks, l.Body, plan)
	if err != nil {
		return err
	}
	ids = append(ids, more...)
	l.Asked, l.RSS = float64(l.Asks)/time.Since(began).Seconds(), p.rss()
	nc, err := bed.open(rights.Role{Name: rights.RoleResponder, Type: responderType})
	if err != nil {
		return err
	}
	r, err := responder.New(nc, responderType, responder.Options{})
	if err != nil {
		return err
	}
	plan.Progress("listing them all, without bodies")
	began = time.Now()
	if l.Listed, err = heads(ctx, r, l.Asks); err != nil {
		return err
	}
	l.Heads, began = time.Since(began).Seconds(), time.Now()
	plan.Progress("listing them all with their bodies")
	for _, err := range r.All(ctx, responder.Query{State: ask.StatePending}) {
		if err != nil {
			return err
		}
		l.Whole++
	}
	if l.Bodies = time.Since(began).Seconds(); l.Whole < l.Asks {
		return fmt.Errorf("bench: %d asks listed of %d", l.Whole, l.Asks)
	}
	plan.Progress("reading and answering")
	var read, answered []time.Duration
	for i := range min(len(ids), 500) {
		k, start := ids[i*len(ids)/500%len(ids)], time.Now()
		rec, err := r.Get(ctx, k)
		if err != nil {
			return err
		}
		read = append(read, time.Since(start))
		if i%5 != 0 || rec.State != ask.StatePending {
			continue
		}
		start = time.Now()
		if _, err := r.Answer(ctx, k, replyTo(&rec.Ask)); err != nil {
			return err
		}
		answered = append(answered, time.Since(start))
	}
	l.Read, l.Answer = timesOf(read), timesOf(answered)
	return nil
}

// heads opens a live screen and returns how many asks it has.
func heads(ctx context.Context, r *responder.Responder, want int) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pending := board.New(r, board.Options{})
	ended := make(chan error, 1)
	go func() { ended <- pending.Run(ctx) }()
	err := poll(ctx, 5*time.Minute, "a live screen does not have all asks", func() bool { return pending.Status().Synced && pending.Status().Pending >= want })
	n := pending.Status().Pending
	cancel()
	return n, errors.Join(err, <-ended)
}

// largeSessions ask at once, largeInFlight asks each.
const (
	largeSessions = 4
	largeInFlight = 4
)

// askLarge asks the asks from up to to.
func (b *Bed) askLarge(ctx context.Context, from, to int, body int64, plan Plan) (keys []ask.Key, err error) {
	var (
		next   atomic.Int64
		failed atomic.Pointer[error]
		all    sync.WaitGroup
	)
	next.Store(int64(from))
	keys = make([]ask.Key, to-from)
	for s := range largeSessions {
		nc, err := b.open(rights.Role{Name: rights.RoleAgent, Tenant: crowd, Session: "s" + strconv.Itoa(s)})
		if err != nil {
			return nil, err
		}
		c, err := client.New(nc, client.Options{})
		if err != nil {
			return nil, err
		}
		for range largeInFlight {
			all.Go(func() {
				for failed.Load() == nil {
					i := int(next.Add(1)) - 1
					if i >= to {
						return
					}
					if i%2000 == 0 {
						plan.Progress(fmt.Sprintf("ask %d of %d", i, to))
					}
					id, err := askOne(ctx, c.Session(crowd, "s"+strconv.Itoa(s)), body)
					if err != nil {
						failed.Store(&err)
						return
					}
					keys[i-from] = ask.Key{Tenant: crowd, Session: "s" + strconv.Itoa(s), ID: id}
				}
			})
		}
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return nil, fmt.Errorf("bench: ask: %w", *err)
	}
	return keys, nil
}

func askOne(ctx context.Context, s client.Session, body int64) (id string, err error) {
	a := question("large")
	a.Timeout = 24 * time.Hour
	a.Context = strings.Repeat("large ask ", int(body)/40) // each part may have 64 KiB
	for i := range a.Questions[0].Options {
		a.Questions[0].Options[i].Preview = &ask.Preview{Body: a.Context}
	}
	for {
		asked, err := s.Ask(ctx, a)
		if !errors.Is(err, ask.ErrUnavailable) || ctx.Err() != nil { // else the machine is overloaded
			return asked.ID, err
		}
	}
}

// peak returns the highest resident memory of the process, or 0 if unknown.
func (p *process) peak() int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), "VmHWM"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// memoryGroup is a control group of Linux with a memory limit: the kernel kills a
// process that exceeds it. The zero value limits nothing.
type memoryGroup struct{ dir string }

// newMemoryGroup makes a control group, for which the process must be root.
func newMemoryGroup(limit int64) (g memoryGroup, err error) {
	for root, file := range map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"} {
		dir := filepath.Join(root, fmt.Sprintf("askbus-bench-%d", os.Getpid()))
		if err = os.Mkdir(dir, 0o750); err != nil {
			continue
		}
		if err = os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0o600); err == nil {
			return memoryGroup{dir}, nil
		}
		_ = os.Remove(dir)
	}
	return memoryGroup{}, err
}

// within returns cmd so that its process is in the group before askbus begins,
// which then finds its limit there by itself.
func (g memoryGroup) within(ctx context.Context, cmd *exec.Cmd) *exec.Cmd {
	const join = `echo $$ > "$0" && exec "$@"`
	in := exec.CommandContext(ctx, "sh", append([]string{"-c", join, filepath.Join(g.dir, "cgroup.procs"), cmd.Path}, cmd.Args[1:]...)...) //nolint:gosec // this program
	in.Env = cmd.Env
	return in
}

// remove removes the group, whose processes have ended.
func (g memoryGroup) remove() {
	if g.dir != "" {
		_ = os.Remove(g.dir)
	}
}
