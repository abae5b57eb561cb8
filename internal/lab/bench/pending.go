package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// Pending is the result of "askbus up" with very many pending asks.
type Pending struct {
	Machine   Machine `json:"machine"`
	Asks      int     `json:"asks"`
	Stored    float64 `json:"stored_per_s"` // ledger writes, each synced, no broker
	RSS       float64 `json:"rss_bytes_each"`
	Heap      float64 `json:"heap_bytes_each"`
	Disk      float64 `json:"disk_bytes_each"`
	Empty     Figure  `json:"empty_p50_us"` // a cycle when nothing waits
	Then      Figure  `json:"then_p50_us"`  // a cycle beside them all
	Ratio     float64 `json:"p50_ratio"`
	List      float64 `json:"list_s"` // all pages, the first to the last
	Listed    int     `json:"listed"`
	FirstPage float64 `json:"first_page_us"`
	LaterPage Times   `json:"later_pages"`
	Restart   float64 `json:"first_ask_after_kill_s"`
}

// Write prints the report.
func (p Pending) Write(out io.Writer) error {
	return lines(out, "machine", p.Machine, "pending asks", p.Asks, "stored per second", round(p.Stored),
		"resident memory each", fmt.Sprintf("%.0f B", p.RSS), "live heap each", fmt.Sprintf("%.0f B", p.Heap), "disk each", fmt.Sprintf("%.0f B", p.Disk),
		"cycle p50, empty", ms(&p.Empty.Median), "cycle p50, then", fmt.Sprintf("%s (× %.2f)", ms(&p.Then.Median), p.Ratio),
		"all listed", fmt.Sprintf("%d in %.1f s", p.Listed, p.List), "first page", ms(&p.FirstPage), "later pages", p.LaterPage,
		"first ask after SIGKILL", fmt.Sprintf("%.1f s", p.Restart))
}

// settle is longer than the server keeps new writes in memory.
const settle = 15 * time.Second

// crowd is the tenant of the pending asks; cycles run in another.
const crowd = "crowd"

// MeasurePending starts "askbus up", stores n pending asks, and measures; then it kills and
// restarts it.
func MeasurePending(ctx context.Context, program Program, dir string, n int, plan Plan) (r Pending, err error) {
	plan.fill()
	if dir, err = os.MkdirTemp(dir, "askbus-bench-"); err != nil {
		return r, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	p, err := startProcess(ctx, program, dir, "up", upArgs()...)
	if err != nil {
		return r, err
	}
	defer p.kill()
	r = Pending{Machine: ThisMachine(), Asks: n}
	plan.Progress("cycles with nothing pending")
	if r.Empty, err = p.cycles(ctx, plan); err != nil {
		return r, err
	}
	rss, disk := p.rss(), p.disk()
	heap, err := p.heap(ctx)
	if err != nil {
		return r, err
	}
	if r.Stored, err = p.fill(ctx, n, plan); err != nil {
		return r, err
	}
	if err := backoff.Sleep(ctx, settle); err != nil {
		return r, err
	}
	full, err := p.heap(ctx)
	if err != nil {
		return r, err
	}
	each := func(now, before int64) float64 { return float64(now-before) / float64(n) }
	r.Heap, r.RSS, r.Disk = each(full, heap), each(p.rss(), rss), each(p.disk(), disk)
	plan.Progress("cycles beside them")
	if r.Then, err = p.cycles(ctx, plan); err != nil {
		return r, err
	}
	r.Ratio = hundredths(r.Then.Median / r.Empty.Median)
	plan.Progress("listing them all")
	if err := p.list(ctx, &r); err != nil {
		return r, err
	}
	plan.Progress("killed; starting again")
	began := time.Now()
	p.kill()
	again, err := startProcess(ctx, program, dir, "up", upArgs()...)
	if err != nil {
		return r, err
	}
	defer again.kill()
	if err := again.ask(ctx); err != nil {
		return r, err
	}
	r.Restart = time.Since(began).Seconds()
	return r, nil
}

// cycles measures cycles one by one.
func (p *process) cycles(ctx context.Context, plan Plan) (Figure, error) {
	bed, err := p.bed("bench")
	if err != nil {
		return Figure{}, err
	}
	defer bed.Close()
	asks, err := bed.NewAsks(ctx, 1)
	if err != nil {
		return Figure{}, err
	}
	rounds, err := Alternate(ctx, []Named{{NameAskbus, asks}}, 1, plan)
	return rounds[NameAskbus].Of(p50), err
}

// writers is the number of concurrent writes while the ledger is filled.
const writers = 128

// fill stores n questions with the ledger's own code and rights.
func (p *process) fill(ctx context.Context, n int, plan Plan) (perSecond float64, err error) {
	bed, err := p.bed(crowd)
	if err != nil {
		return 0, err
	}
	defer bed.Close()
	nc, err := bed.open(rights.Role{Name: rights.RoleLedger})
	if err != nil {
		return 0, err
	}
	led, err := ledger.Open(ctx, nc, ledger.Options{})
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	var (
		next   atomic.Int64
		failed atomic.Pointer[error]
		all    sync.WaitGroup
	)
	began := time.Now()
	for range writers {
		all.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if i%50_000 == 0 {
					plan.Progress(fmt.Sprintf("storing ask %d of %d", i, n))
				}
				k := ask.Key{Tenant: crowd, Session: "s" + strconv.Itoa(i%1000), ID: cloudevent.NewID()}
				q, err := stored(k)
				if err == nil {
					err = ask.ErrUnavailable
				}
				for errors.Is(err, ask.ErrUnavailable) && ctx.Err() == nil {
					_, err = led.Store(ctx, q) // again, if the machine is overloaded
				}
				if err != nil && !ledger.IsRace(err) {
					failed.Store(&err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, fmt.Errorf("bench: store: %w", *err)
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// stored returns a question as the broker stores it.
func stored(k ask.Key) (lifecycle.State, error) {
	a := question("waiting")
	a.ID, a.Tenant, a.Session, a.Timeout = k.ID, k.Tenant, k.Session, 24*time.Hour
	a.Normalize()
	s := lifecycle.New(a, time.Now())
	s.Life, s.EventID = cloudevent.NewID(), cloudevent.NewID()
	s.Digests = []string{"sha256:0000000000000000000000000000000000000000000000000000000000000000"}
	var err error
	s.RawAsk, err = wire.EncodeAsk(s.Ask)
	return s, err
}

// list reads all asks, then measures each page.
func (p *process) list(ctx context.Context, into *Pending) error {
	bed, err := p.bed(crowd)
	if err != nil {
		return err
	}
	defer bed.Close()
	nc, err := bed.open(rights.Role{Name: rights.RoleResponder, Type: responderType})
	if err != nil {
		return err
	}
	r, err := responder.New(nc, responderType, responder.Options{})
	if err != nil {
		return err
	}
	began := time.Now()
	for _, err := range r.All(ctx, responder.Query{State: ask.StatePending, PageSize: wire.MaxPage}) {
		if err != nil {
			return err
		}
		into.Listed++
	}
	into.List = time.Since(began).Seconds()
	if into.Listed < into.Asks {
		return fmt.Errorf("bench: %d asks listed of %d", into.Listed, into.Asks)
	}
	var later []time.Duration // page by page, each alone
	for cursor, more := "", true; more; more = cursor != "" {
		start := time.Now()
		page, err := r.List(ctx, responder.Query{State: ask.StatePending, PageSize: wire.MaxPage, Cursor: cursor})
		if err != nil {
			return err
		}
		if cursor == "" {
			into.FirstPage = micros(time.Since(start))
		} else {
			later = append(later, time.Since(start))
		}
		cursor = page.Next
	}
	into.LaterPage = timesOf(later)
	return nil
}

// ask asks until an ask is accepted.
func (p *process) ask(ctx context.Context) error {
	bed, err := p.bed("bench")
	if err != nil {
		return err
	}
	defer bed.Close()
	nc, err := bed.open(rights.Role{Name: rights.RoleAgent, Tenant: "bench", Session: "after"})
	if err != nil {
		return err
	}
	c, err := client.New(nc, client.Options{})
	if err != nil {
		return err
	}
	for {
		_, err := c.Session("bench", "after").Ask(ctx, question("after"))
		if err == nil || !errors.Is(err, ask.ErrUnavailable) {
			return err
		}
	}
}
