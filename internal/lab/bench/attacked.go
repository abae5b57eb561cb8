package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
)

// AttackOptions configures [MeasureAttacks].
type AttackOptions struct {
	Kinds []string // default, and "all": [Attacks]
	CPU   float64  // processor time of an attacker, of one core; default 0.25
}

// Attacked is the effect of attackers on victims.
type Attacked struct {
	Machine Machine         `json:"machine"`
	CPU     float64         `json:"attacker_cpu"`
	Attacks []AttackOutcome `json:"attacks"`
}

// AttackOutcome is the result of one attack: the victims' cycles during the same load on a dead
// port, and during the attack.
type AttackOutcome struct {
	Kind     string       `json:"kind"`
	Alone    Times        `json:"alone"`
	Beside   Times        `json:"beside"`
	Refused  int          `json:"refused"`          // victims' cycles that failed during the attack
	Why      string       `json:"why,omitempty"`    // error of the first of them
	Unwell   int          `json:"refused_on_alone"` // victims' cycles that failed during the load on the dead port
	Ratio    float64      `json:"p99_ratio"`
	Attacker AttackCounts `json:"attacker"` // counts of the last round

	AloneCPU  float64 `json:"alone_cpu"` // cores used by askbus
	BesideCPU float64 `json:"beside_cpu"`
}

// Write prints the report.
func (a Attacked) Write(out io.Writer) error {
	fmt.Fprintf(out, "machine\t%s\nattackers\t%.2f of a core each\n\n", a.Machine, a.CPU)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "attack\talone p50\tp99\tbeside p50\tp99\tp99 ratio\tcores\tvictims refused\tattacker sent\tof it refused")
	for i := range a.Attacks {
		o := &a.Attacks[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f, %.2f\t%d of %d\t%d\t%d\n", o.Kind, ms(&o.Alone.P50), ms(&o.Alone.P99), ms(&o.Beside.P50), ms(&o.Beside.P99), o.Ratio, o.AloneCPU, o.BesideCPU, o.Refused, o.Beside.N+o.Refused, o.Attacker.Sent, o.Attacker.Refused)
		if o.Why != "" {
			fmt.Fprintf(w, "\t%s\n", o.Why)
		}
	}
	return w.Flush()
}

const (
	noisyTenant  = "noisy"
	noisySession = "attacker"
	httpVictims  = 3
	natsVictims  = quietSessions - httpVictims
	settleAfter  = 500 * time.Millisecond // wait after an attacker's start
)

// MeasureAttacks starts "askbus up" and measures the cycles of quiet sessions, most over NATS and
// some over HTTP, during attacks by other processes, alternating with the same load on a dead port.
func MeasureAttacks(ctx context.Context, program Program, plan Plan, opts AttackOptions) (Attacked, error) {
	plan.fill()
	if err := opts.fill(); err != nil {
		return Attacked{}, err
	}
	dir, err := os.MkdirTemp("", "askbus-bench-")
	if err != nil {
		return Attacked{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in the system's temporary directory
	p, err := startProcess(ctx, program, dir, "up", "up", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open", "--max-store", "512MiB", "--log-level", "error")
	if err != nil {
		return Attacked{}, err
	}
	defer p.kill()
	plan.Progress("askbus up is at " + p.ops)
	bed, err := p.bed("bench")
	if err != nil {
		return Attacked{}, err
	}
	defer bed.Close()
	asks, err := bed.NewAsks(ctx, natsVictims)
	if err != nil {
		return Attacked{}, err
	}
	d, err := p.endpoints(ctx, program, bed)
	if err != nil {
		return Attacked{}, err
	}
	report := Attacked{Machine: ThisMachine(), CPU: opts.CPU}
	for _, kind := range opts.Kinds {
		o, err := p.attacked(ctx, program, plan, opts.CPU, kind, &victims{asks: asks, endpoints: d})
		if err != nil {
			return report, err
		}
		report.Attacks = append(report.Attacks, o)
	}
	report.Machine = ThisMachine()
	return report, nil
}

func (p *process) attacked(ctx context.Context, program Program, plan Plan, cpu float64, kind string, v *victims) (AttackOutcome, error) {
	o := AttackOutcome{Kind: kind}
	how, err := p.attacker(ctx, program, kind, v.endpoints.url)
	if err != nil {
		return o, err
	}
	how.CPU = cpu
	var alone, beside []time.Duration
	for round := range plan.Rounds {
		for _, dead := range []bool{true, false} {
			plan.Progress(fmt.Sprintf("%s, round %d, dead port: %t", kind, round+1, dead))
			how.Dead = dead
			stop, err := startAttacker(ctx, program, how)
			if err != nil {
				return o, err
			}
			_ = backoff.Sleep(ctx, settleAfter)
			used, began := p.cpu(), time.Now()
			took, failed, why := v.cycles(ctx, plan.Round)
			cores := (p.cpu() - used).Seconds() / time.Since(began).Seconds() / float64(plan.Rounds)
			counts := stop()
			if ctx.Err() != nil {
				return o, ctx.Err()
			}
			if dead {
				alone, o.Unwell, o.AloneCPU = append(alone, took...), o.Unwell+failed, o.AloneCPU+cores
				continue
			}
			beside, o.Refused, o.Attacker, o.BesideCPU = append(beside, took...), o.Refused+failed, counts, o.BesideCPU+cores
			if o.Why == "" {
				o.Why = why
			}
		}
	}
	o.Alone, o.Beside = timesOf(alone), timesOf(beside)
	if o.Alone.P99 > 0 {
		o.Ratio = o.Beside.P99 / o.Alone.P99
	}
	return o, nil
}

// attacker returns the configuration of an attacker of a kind.
func (p *process) attacker(ctx context.Context, program Program, kind, at string) (Attacker, error) {
	how := Attacker{Kind: kind, NATSURL: p.url, HTTPURL: at, Tenant: noisyTenant, Session: noisySession}
	keys, err := rights.LoadIssuer(p.dir)
	if err != nil {
		return how, fmt.Errorf("bench: %w", err)
	}
	role := rights.Role{Name: rights.RoleAgent, Tenant: noisyTenant, Session: noisySession}
	if kind == AttackTokens {
		role = rights.Role{Name: rights.RoleResponder, Type: "noisy"}
	}
	c, err := keys.Asserting(p.url, role, assertion.Set{})
	if err != nil {
		return how, fmt.Errorf("bench: %w", err)
	}
	if how.Creds = c.Creds; how.Creds == "" && c.Renew != nil {
		if how.Creds, err = c.Renew(); err != nil {
			return how, fmt.Errorf("bench: %w", err)
		}
	}
	who, err := connection.Identify(how.Creds)
	if err != nil {
		return how, fmt.Errorf("bench: %w", err)
	}
	how.User = who.User
	if kind == AttackSockets {
		how.Token, err = p.issueToken(ctx, program, "--role", "screen", "--tenant", noisyTenant, "--session", noisySession)
	}
	return how, err
}

// Attackers are attacking processes that run during another measurement.
type Attackers struct {
	kinds []string
	stop  []func() AttackCounts
}

// StartAttackers starts an attacker of each kind against the running "askbus
// up" of a directory. The caller must call Stop.
func StartAttackers(ctx context.Context, program Program, dir string, opts AttackOptions) (*Attackers, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	where, err := readAddresses(dir)
	if err != nil {
		return nil, fmt.Errorf("bench: attackers need the directory of a running \"askbus up\": %w", err)
	}
	if where.NATS == "" || where.HTTP == "" {
		return nil, fmt.Errorf("bench: the context.json of %s lacks the address of NATS or of HTTP; give the directory of a running \"askbus up\"", dir)
	}
	p := &process{dir: dir, url: where.NATS}
	all := &Attackers{}
	for _, kind := range opts.Kinds {
		how, err := p.attacker(ctx, program, kind, where.HTTP)
		if err == nil {
			how.CPU = opts.CPU
			var stop func() AttackCounts
			if stop, err = startAttacker(ctx, program, how); err == nil {
				all.kinds, all.stop = append(all.kinds, kind), append(all.stop, stop)
			}
		}
		if err != nil {
			all.Stop()
			return nil, err
		}
	}
	return all, nil
}

// Stop stops the attackers and returns their counts.
func (a *Attackers) Stop() map[string]AttackCounts {
	counts := map[string]AttackCounts{}
	for i, stop := range a.stop {
		counts[a.kinds[i]] = stop()
	}
	a.stop = nil
	return counts
}

func (o *AttackOptions) fill() error {
	if len(o.Kinds) == 0 || slices.Contains(o.Kinds, "all") {
		o.Kinds = Attacks()
	}
	if o.CPU <= 0 {
		o.CPU = 0.25
	}
	for _, kind := range o.Kinds {
		if !slices.Contains(Attacks(), kind) {
			return fmt.Errorf("bench: unknown attack %q: use some of %v", kind, Attacks())
		}
	}
	return nil
}

// startAttacker starts an attacking process. Stop kills it, which closes all its connections at
// once, and returns its last report.
func startAttacker(ctx context.Context, program Program, how Attacker) (stop func() AttackCounts, err error) {
	cmd, in, out, err := startPiped(ctx, program, "bench", "attacker")
	if err != nil {
		return nil, fmt.Errorf("bench: start an attacker: %w", err)
	}
	err = json.NewEncoder(in).Encode(how)
	if err = errors.Join(err, in.Close()); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("bench: configure an attacker: %w", err)
	}
	var last AttackCounts
	read := make(chan struct{})
	began := make(chan struct{})
	go func() {
		defer close(read)
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); once.Do(func() { close(began) }) {
			_ = json.Unmarshal(lines.Bytes(), &last)
		}
	}()
	select {
	case <-began:
	case <-read:
		_ = cmd.Wait()
		return nil, errors.New("bench: an attacker stopped; its output is above")
	case <-ctx.Done():
	}
	return func() AttackCounts {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait() // the error is the kill
		return last
	}, nil
}

// victims are quiet sessions that ask occasionally.
type victims struct {
	asks      *Asks
	endpoints *endpoints

	mu     sync.Mutex
	took   []time.Duration
	failed int
	why    string
	n      int
}

// cycles has each victim ask, wait and pause for d, and returns the durations of the cycles and the
// number of failures.
func (v *victims) cycles(ctx context.Context, d time.Duration) (took []time.Duration, failed int, why string) {
	v.took, v.failed, v.why = nil, 0, ""
	work, stop := connection.WithGrace(ctx, grace)
	defer stop()
	began := time.Now()
	var all sync.WaitGroup
	for slot := range natsVictims + httpVictims {
		all.Go(func() {
			for time.Since(began) < d && ctx.Err() == nil {
				v.cycle(work, slot)
				_ = backoff.Sleep(ctx, quietPause)
			}
		})
	}
	all.Wait()
	return v.took, v.failed, v.why
}

func (v *victims) cycle(ctx context.Context, slot int) {
	v.mu.Lock()
	v.n++
	n := v.n
	v.mu.Unlock()
	start := time.Now()
	var err error
	if slot < natsVictims {
		err = v.asks.Cycle(ctx, slot)
	} else {
		err = v.endpoints.once(ctx, 7*n) // through the first HTTP API; a refusal counts as an error
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.failed++
		if v.why == "" {
			v.why = fmt.Sprintf("%.300s", err)
		}
		return
	}
	v.took = append(v.took, time.Since(start))
}
