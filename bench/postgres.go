package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres is a table with LISTEN and NOTIFY, and a compare-and-set update.
type postgres struct {
	cmd    *exec.Cmd
	pool   *pgxpool.Pool
	stop   context.CancelFunc
	loops  sync.WaitGroup
	mu     sync.Mutex
	waits  map[string]chan string
	answer error
}

const schema = `create table ask (id text primary key, body text not null, outcome text, asked_at timestamptz not null default now(), answered_at timestamptz)`

// Asking stores and notifies in one statement, and thus in one commit.
const (
	askSQL    = `with stored as (insert into ask (id, body) values ($1, $2) returning id, body) select pg_notify('asked', id || ' ' || body) from stored`
	answerSQL = `with won as (update ask set outcome = $2, answered_at = now() where id = $1 and outcome is null returning id, outcome)
		select pg_notify('answered', id || ' ' || outcome) from won`
)

func startPostgres(ctx context.Context, dir string) (system, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "postgres")
	as, err := postgresUser(data)
	if err != nil {
		return nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "bench") //nolint:gosec // found above
	initdb.Dir, initdb.SysProcAttr = data, as
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	p := &postgres{waits: map[string]chan string{}}
	p.cmd = exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-h", "127.0.0.1", "-k", data) //nolint:gosec // found above
	p.cmd.Dir, p.cmd.SysProcAttr = data, as
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	url := "postgres://bench@127.0.0.1:" + port + "/postgres"
	if err := p.connect(ctx, url); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// postgresBin is the directory of the server's programs on Debian.
func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", fmt.Errorf("postgres is %w: install Debian's package postgresql", errAway)
	}
	return filepath.Dir(path), nil
}

// postgresUser makes the data directory for the user that runs the server, which refuses root.
func postgresUser(data string) (*syscall.SysProcAttr, error) {
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // as ourselves
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(data, uid, gid) //nolint:gosec // ids fit
}

func freePort(ctx context.Context) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close() //nolint:errcheck // nothing was sent
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}

func (p *postgres) connect(ctx context.Context, url string) error {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.MaxConns = 64 // of the 100 that the server allows by default
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return err
	}
	for end := time.Now().Add(30 * time.Second); ; {
		if _, err = p.pool.Exec(ctx, schema); err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	if err := p.listen(running, url, "asked", func(id, _ string) { p.loops.Go(func() { p.reply(running, id) }) }); err != nil {
		return err
	}
	return p.listen(running, url, "answered", p.answered)
}

// listen calls handle with the notifications of a channel.
func (p *postgres) listen(ctx context.Context, url, channel string, handle func(id, body string)) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return err
	}
	p.loops.Go(func() {
		defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the server goes, too
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				return
			}
			id, body, _ := strings.Cut(n.Payload, " ")
			handle(id, body)
		}
	})
	return nil
}

// reply is the responder.
func (p *postgres) reply(ctx context.Context, id string) {
	if _, err := p.pool.Exec(ctx, answerSQL, id, outcome); err != nil && ctx.Err() == nil {
		p.mu.Lock()
		p.answer = err
		p.mu.Unlock()
	}
}

func (p *postgres) answered(id, body string) {
	p.mu.Lock()
	ch := p.waits[id]
	delete(p.waits, id)
	p.mu.Unlock()
	if ch != nil {
		ch <- body
	}
}

// Cycle implements bench.System.
func (p *postgres) Cycle(ctx context.Context, _ int) error {
	id := newID()
	ch := make(chan string, 1)
	p.mu.Lock()
	p.waits[id] = ch
	p.mu.Unlock()
	if _, err := p.pool.Exec(ctx, askSQL, id, question); err != nil {
		return err
	}
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("%w (%w)", ctx.Err(), p.answer)
	}
}

// Close stops the server at once; its data is not needed.
func (p *postgres) Close() {
	if p.stop != nil {
		p.stop()
	}
	p.loops.Wait()
	if p.pool != nil {
		p.pool.Close()
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	_ = p.cmd.Wait()
}
