package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The attackers. Each is a process that does one thing as fast as its share of a processor allows.
const (
	AttackWaits    = "waits"     // 30,000 waits of one credential, and a disconnect, again a second later
	AttackTokens   = "tokens"    // made-up tokens of work, 600 a second
	AttackFill     = "fill"      // large asks, to fill the store
	AttackSockets  = "sockets"   // 2,000 WebSockets of one token
	AttackSlowBody = "slow-body" // 500 bodies without a token that never end
	AttackDenied   = "denied"    // messages that the credential may not send
	AttackInterest = "interest"  // subscribes and unsubscribes in turn
)

// Attacks returns the names of all attackers.
func Attacks() []string {
	return []string{AttackWaits, AttackTokens, AttackFill, AttackSockets, AttackSlowBody, AttackDenied, AttackInterest}
}

// Attacker is the input of an attacking process, as JSON on its standard input.
type Attacker struct {
	Kind    string  `json:"kind"`
	Dead    bool    `json:"dead"` // the same load on a port behind which nothing is done
	CPU     float64 `json:"cpu"`  // processor time that it may use, of one core
	NATSURL string  `json:"nats_url"`
	HTTPURL string  `json:"http_url"`
	Creds   string  `json:"creds"` // an agent's of one session; of tokens a responder's
	User    string  `json:"user"`  // its public key
	Tenant  string  `json:"tenant"`
	Session string  `json:"session"`
	Token   string  `json:"token"`
}

// AttackCounts are an attacker's reports, each a line of JSON.
type AttackCounts struct {
	Sent    int64 `json:"sent"`
	Refused int64 `json:"refused"`
}

const (
	attackWaits    = 30_000
	attackTokens   = 600 // a second
	attackSockets  = 2000
	attackBodies   = 500
	attackSays     = 100 * time.Millisecond
	attackResponse = 2 * time.Second // for a status line
)

// attack is a running attacker.
type attack struct {
	Attacker
	began         time.Time
	sent, refused atomic.Int64
}

// Attack attacks until ctx ends, and writes its counts to out.
func Attack(ctx context.Context, how Attacker, out io.Writer) error {
	if !slices.Contains(Attacks(), how.Kind) {
		return fmt.Errorf("bench: unknown attack %q: use one of %s", how.Kind, strings.Join(Attacks(), ", "))
	}
	runtime.GOMAXPROCS(1)
	a := &attack{Attacker: how, began: time.Now()}
	if how.Dead {
		for _, at := range []*string{&a.NATSURL, &a.HTTPURL} {
			ln, err := listen(ctx)
			if err != nil {
				return err
			}
			defer ln.Close() //nolint:errcheck // the process ends
			go sink(ln, at == &a.NATSURL)
			*at = "tcp://" + ln.Addr().String()
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	tick := time.NewTicker(attackSays)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				err = nil
			}
			return err
		case <-tick.C:
			if err := json.NewEncoder(out).Encode(AttackCounts{a.sent.Load(), a.refused.Load()}); err != nil {
				return err
			}
		}
	}
}

func (a *attack) run(ctx context.Context) error {
	switch a.Kind {
	case AttackSockets:
		return a.connections(ctx, attackSockets, a.socket)
	case AttackSlowBody:
		return a.connections(ctx, attackBodies, a.slowBody)
	}
	attack := a.publish
	if a.Kind == AttackInterest {
		attack = a.interest
	}
	for ctx.Err() == nil {
		if err := attack(ctx); err != nil { // it was cut off, or kept out
			a.refused.Add(1)
			a.pay(ctx)
			_ = backoff.Sleep(ctx, 10*time.Millisecond)
		}
	}
	return ctx.Err()
}

// pay sleeps until the used processor time is within the share.
func (a *attack) pay(ctx context.Context) {
	for ctx.Err() == nil {
		var used syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
			return
		}
		over := time.Duration(float64(used.Utime.Nano()+used.Stime.Nano())/a.CPU) - time.Since(a.began)
		if over <= 0 {
			return
		}
		_ = backoff.Sleep(ctx, min(over, 50*time.Millisecond))
	}
}

// publish attacks over one connection.
func (a *attack) publish(ctx context.Context) error {
	nc, err := connection.Connect(connection.Credential{URL: a.NATSURL, Creds: a.Creds}, logger(nil), nats.NoReconnect())
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer nc.Close()
	inbox := nc.NewInbox()
	if _, err := nc.Subscribe(inbox+".*", func(m *nats.Msg) {
		if m.Header.Get(micro.ErrorCodeHeader) != "" {
			a.refused.Add(1)
		}
	}); err != nil {
		return err
	}
	send := func(subj, body string, headers nats.Header) error {
		n := a.sent.Add(1)
		if n%64 == 0 {
			a.pay(ctx)
		}
		return nc.PublishMsg(&nats.Msg{Subject: subj, Reply: fmt.Sprintf("%s.%d", inbox, n), Header: headers, Data: []byte(body)})
	}
	at := "askv1." + a.Tenant + "." + a.Session
	begin := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("n%d-%d", begin.UnixNano(), n)
		switch a.Kind {
		case AttackWaits:
			if n == 0 {
				err = send(at+".ask.waited", askEvent("waited", ""), nil)
			} else {
				err = send(at+".wait.waited", "", nats.Header{"Askbus-Wait": {"10m"}})
			}
			if n > attackWaits {
				_ = nc.Flush() // it ends in either case
				nc.Close()
				_ = backoff.Sleep(ctx, time.Second)
				return nil
			}
		case AttackTokens:
			_ = backoff.Sleep(ctx, time.Until(begin.Add(time.Duration(n)*time.Second/attackTokens)))
			err = send("ansv1.noisy."+a.User+".done", fmt.Sprintf(`{"token":"AAAAAAAAAAAAAAAAAAAAAA.$JS.ACK.ASKS_00.noisy-q.1.%d.1.1.1"}`, n), nil)
		case AttackFill:
			err = send(at+".ask."+id, askEvent(id, strings.Repeat("fill ", 12_000)), nil)
		case AttackDenied:
			err = send("askv1.elsewhere.s1.ask."+id, "{}", nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// interest subscribes and unsubscribes until ctx or the connection ends.
func (a *attack) interest(ctx context.Context) error {
	raw := &dialer{}
	nc, err := connection.Connect(connection.Credential{URL: a.NATSURL, Creds: a.Creds}, logger(nil), nats.NoReconnect(), nats.SetCustomDialer(raw))
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer nc.Close()
	const turns = 500
	lines := []byte(strings.Repeat(fmt.Sprintf("SUB outv1.%s.%s.a.o 7\r\nUNSUB 7\r\n", a.Tenant, a.Session), turns))
	for ctx.Err() == nil {
		if _, err := raw.conn.Write(lines); err != nil {
			return err
		}
		a.sent.Add(turns)
		a.pay(ctx)
	}
	return nil
}

// dialer keeps the connection that it made.
type dialer struct{ conn net.Conn }

func (d *dialer) Dial(network, address string) (c net.Conn, err error) {
	d.conn, err = net.Dial(network, address) //nolint:noctx // nats.go has no context for it
	return d.conn, err
}

func askEvent(id, context string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/bench","type":"dev.askbus.ask.requested.v1","data":{"id":%q,"context":%q,"timeout":"10m","questions":[{"text":"Noise?","kind":"boolean"}]}}`, id, id, context)
}

// connections keeps n connections open, each made by one.
func (a *attack) connections(ctx context.Context, n int, one func(ctx context.Context, conn net.Conn) error) error {
	at, err := url.Parse(a.HTTPURL)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range n {
		a.pay(ctx)
		all.Go(func() {
			for ctx.Err() == nil {
				a.pay(ctx)
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.Host)
				if err != nil {
					a.refused.Add(1)
					_ = backoff.Sleep(ctx, 100*time.Millisecond)
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				a.sent.Add(1)
				if err := one(ctx, conn); err != nil {
					a.refused.Add(1)
					_ = backoff.Sleep(ctx, 100*time.Millisecond)
				}
				stop()
				_ = conn.Close()
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

var errRefused = errors.New("refused")

// socket opens a WebSocket and keeps it open.
func (a *attack) socket(ctx context.Context, conn net.Conn) error {
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", a.Token)
	if !a.Dead {
		_ = conn.SetReadDeadline(time.Now().Add(attackResponse))
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " 101 ") {
			return errRefused
		}
	}
	_ = conn.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, conn) // until somebody ends it
	return ctx.Err()
}

// slowBody sends a body at one byte per second.
func (a *attack) slowBody(ctx context.Context, conn net.Conn) error {
	fmt.Fprint(conn, "POST /v1/hook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n{")
	for ctx.Err() == nil {
		_ = backoff.Sleep(ctx, time.Second)
		if _, err := conn.Write([]byte(" ")); err != nil {
			return errRefused
		}
	}
	return nil
}

// sink accepts everything and does nothing: over NATS the minimum that a client needs, over HTTP
// not even that.
func sink(ln net.Listener, isNATS bool) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close() //nolint:errcheck // the process ends
			if !isNATS {
				_, _ = io.Copy(io.Discard, conn)
				return
			}
			fmt.Fprint(conn, `INFO {"server_id":"DEAD","version":"2.15.0","proto":1,"headers":true,"max_payload":1048576}`+"\r\n")
			in := bufio.NewReaderSize(conn, 256<<10)
			for {
				line, err := in.ReadSlice('\n')
				if errors.Is(err, bufio.ErrBufferFull) {
					continue
				}
				if err != nil {
					return
				}
				if strings.HasPrefix(string(line), "PING") {
					fmt.Fprint(conn, "PONG\r\n")
				}
			}
		}()
	}
}
