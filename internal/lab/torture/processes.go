package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// Processes is a bus of processes of one binary: servers and brokers.
type Processes struct {
	self  string
	dir   string
	temp  string // made for this bus, and removed by Close
	keys  *rights.Issuer
	urls  string
	procs []*process
	disk  *fullDisk     // nil: fill none
	clock *wrongClock   // nil: all clocks are right
	child *partyProcess // nil until a run starts one
	log   *slog.Logger
}

// StartProcesses starts them and waits until a broker serves.
func StartProcesses(ctx context.Context, self string, opts EmbeddedOptions) (*Processes, error) {
	temp, err := opts.fill()
	if err != nil {
		return nil, err
	}
	p := &Processes{self: self, dir: opts.Dir, temp: temp, log: opts.Logger}
	if err := p.start(ctx, opts); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Processes) start(ctx context.Context, opts EmbeddedOptions) error {
	nodes := opts.Nodes
	addrs, err := freeaddr.Pick(2 * nodes)
	if err != nil {
		return err
	}
	maxStore := strconv.FormatInt(max(opts.MaxStore, 0), 10)
	if opts.MaxStore == 0 {
		maxStore = "10GiB"
	}
	first := filepath.Join(p.dir, "n1")
	if opts.SmallDisk != "" && nodes == 1 {
		first = filepath.Join(opts.SmallDisk, "n1")
	}
	if err := rights.ShareKey(first, p.dir); err != nil {
		return err
	}
	if p.keys, err = rights.LoadIssuer(p.dir); err != nil {
		return err
	}
	var urls, cluster []string
	for i := range nodes {
		cluster = append(cluster, fmt.Sprintf("n%d=%s", i+1, addrs[nodes+i]))
	}
	for i := range nodes {
		name := "n" + strconv.Itoa(i+1)
		args := []string{"server", "--dir", first, "--nats-addr", addrs[i], "--max-store", maxStore}
		if nodes > 1 {
			dir := filepath.Join(p.dir, name)
			if opts.SmallDisk != "" && i == nodes-1 {
				dir = filepath.Join(opts.SmallDisk, name)
			}
			args = []string{
				"server", "--dir", dir, "--key-of", first, "--nats-addr", addrs[i], "--max-store", maxStore, "--ops-addr", "127.0.0.1:0",
				"--node", name, "--cluster", strings.Join(cluster, ","),
			}
			name = "server-" + name
		} else {
			name = "server"
		}
		urls = append(urls, "nats://"+addrs[i])
		p.add(name, args)
		if opts.SmallDisk != "" && i == nodes-1 {
			p.disk = &fullDisk{p, p.procs[i], opts.SmallDisk}
		}
	}
	p.urls = strings.Join(urls, ",")
	if opts.Skewed != "" {
		p.clock = &wrongClock{bus: p, skewed: opts.Skewed, servers: slices.Clone(p.procs)}
		p.clock.next() // from the start
	}
	for i := range opts.Brokers {
		p.add("broker-"+strconv.Itoa(i+1), []string{
			"broker", "--dir", p.dir, "--nats-url", p.urls, "--ops-addr", "127.0.0.1:0", "--max-store", maxStore,
			"--replicas", strconv.Itoa(nodes), "--retention", opts.Retention.String(), "--margin", opts.Margin.String(),
			"--clock-ahead", skewOf(opts.Skew, i).String(),
		})
	}
	for _, pr := range p.procs {
		if err := pr.start(); err != nil {
			return err
		}
	}
	return p.serves(ctx)
}

func (p *Processes) add(name string, args []string) {
	p.procs = append(p.procs, &process{name: name, self: p.self, args: args, out: filepath.Join(p.dir, name+".log")})
}

// serves waits until a broker replies.
func (p *Processes) serves(ctx context.Context) error {
	last := time.Now().Add(60 * time.Second)
	for {
		err := p.ping(ctx)
		if err == nil {
			return nil
		}
		for _, pr := range p.procs {
			// A broker that finds no server exits; its supervisor restarts it.
			if again := pr.startAgain(); again != nil {
				return again
			}
		}
		if time.Now().After(last) || !until(ctx, time.Now().Add(200*time.Millisecond)) {
			return fmt.Errorf("torture: no broker serves: %w", err)
		}
	}
}

func (p *Processes) ping(ctx context.Context) error {
	nc, err := dial(p, rights.Role{Name: rights.RoleOperator}, p.log)
	if err != nil {
		return err
	}
	defer nc.Close()
	one, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = nc.RequestWithContext(one, "$SRV.PING.askbus", nil)
	return err
}

// Credential implements [Bus].
func (p *Processes) Credential(r rights.Role) (client.Credential, error) {
	c, err := p.keys.Asserting(p.urls, r, assertion.Anything())
	return client.Credential(c), err
}

// Ledger implements [Bus].
func (p *Processes) Ledger() (client.Credential, bool) {
	c, err := p.Credential(rights.Role{Name: rights.RoleLedger})
	return c, err == nil
}

// Victims implements [Bus].
func (p *Processes) Victims() []Victim {
	victims := make([]Victim, len(p.procs))
	for i, pr := range p.procs {
		victims[i] = &victim{p, pr}
	}
	if p.disk != nil {
		victims = append(victims, p.disk)
	}
	if p.clock != nil {
		victims = append(victims, p.clock)
	}
	if p.child != nil {
		victims = append(victims, p.child)
	}
	return victims
}

// Close implements [Bus].
func (p *Processes) Close() error {
	for _, pr := range p.procs {
		pr.end()
	}
	if p.temp == "" {
		return nil
	}
	return os.RemoveAll(p.temp)
}

// victim is a process of a bus.
type victim struct {
	bus *Processes
	pr  *process
}

// Name implements [Victim].
func (v *victim) Name() string { return v.pr.name }

// Kill implements [Victim], with SIGKILL. It returns when the bus serves again.
func (v *victim) Kill(ctx context.Context) error {
	v.pr.end()
	if err := v.pr.start(); err != nil {
		return err
	}
	return v.bus.serves(ctx)
}

// Stop implements [Victim].
func (v *victim) Stop(ctx context.Context, d time.Duration) (bool, error) {
	return true, v.pr.freeze(ctx, d)
}

// process is one child.
type process struct {
	name, self, out string
	args            []string
	env             []string // in addition to this process's

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	out, err := os.OpenFile(p.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	defer out.Close()                       //nolint:errcheck // the child has its own copy
	p.cmd = exec.Command(p.self, p.args...) //nolint:gosec,noctx // our own binary; it is ended by name
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, append(p.cmd.Environ(), p.env...)
	p.cmd.SysProcAttr = childAttr()
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("torture: start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	p.done = done
	go func(c *exec.Cmd) {
		defer close(done)
		_ = c.Wait() // reports the kill
	}(p.cmd)
	return nil
}

// startAgain restarts it if it has exited by itself.
func (p *process) startAgain() error {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
		return p.start()
	default:
		return nil
	}
}

// ended waits until it has exited by itself, or for d.
func (p *process) ended(d time.Duration) {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// end kills it and waits for the exit.
func (p *process) end() {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if cmd == nil || cmd.Process == nil {
		return
	}
	_ = cmd.Process.Kill()
	<-done
}

// freeze pauses it for a while.
func (p *process) freeze(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("torture: stop %s: %w", p.name, err)
	}
	until(ctx, time.Now().Add(d))
	return cmd.Process.Signal(syscall.SIGCONT)
}
