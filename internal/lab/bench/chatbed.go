package bench

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// chatBed is some chats with their platforms, an agent, and people at a browser and a terminal.
type chatBed struct {
	session       client.Session
	name, tenant  string
	chats         map[string]*platform
	web, terminal *responder.Responder
	closes        []func()
}

func (b *chatBed) close() {
	for _, end := range slices.Backward(b.closes) {
		end()
	}
}

// chatBed starts replicas of chats.
func (b *Bed) chatBed(ctx context.Context, name string, types []string, replicas int, w fakeslack.Wall, unlimited bool) (_ *chatBed, err error) {
	s := &chatBed{tenant: b.Tenant, name: b.run + name, chats: map[string]*platform{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	connect := func(typ string) (*responder.Responder, error) {
		nc, err := b.dial(rights.Role{Name: rights.RoleResponder, Type: typ})
		if err != nil {
			return nil, err
		}
		s.closes = append(s.closes, nc.Close)
		return responder.New(nc, typ, responder.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	if s.web, err = connect("web"); err != nil {
		return nil, err
	}
	if s.terminal, err = connect("terminal"); err != nil {
		return nil, err
	}
	nc, err := b.dial(rights.Role{Name: rights.RoleAgent, Tenant: b.Tenant, Session: s.name})
	if err != nil {
		return nil, err
	}
	agent, err := client.New(nc, client.Options{Logger: b.log})
	if err != nil {
		return nil, err
	}
	s.closes = append(s.closes, nc.Close, agent.Close)
	s.session = agent.Session(b.Tenant, s.name)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.closes = append(s.closes, stop)
	for _, one := range platforms() {
		if !slices.Contains(types, one.typ) {
			continue
		}
		p, err := one.new(w, unlimited)
		if err != nil {
			return nil, err
		}
		s.chats[one.typ] = p
		s.closes = append(s.closes, p.close)
		if p.gate != nil {
			s.closes = append(s.closes, p.gate.close)
		}
		if err := s.start(running, stop, one.typ, p, replicas, w, connect); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// start starts the replicas of a chat, over which its platform's calls are distributed.
func (b *chatBed) start(running context.Context, stop func(), typ string, p *platform, replicas int, w fakeslack.Wall, connect func(string) (*responder.Responder, error)) error {
	var handlers []http.Handler
	var next atomic.Uint64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[next.Add(1)%uint64(len(handlers))].ServeHTTP(w, r)
	}))
	b.closes = append(b.closes, front.Close)
	if p.called != nil {
		p.called(front.URL)
	}
	for range replicas {
		r, err := connect(typ)
		if err != nil {
			return err
		}
		app, err := p.new(r, chat.Options{Clock: w, Logger: slog.New(slog.DiscardHandler)}) // during an outage each failed call would be logged
		if err != nil {
			return err
		}
		if h, ok := app.(interface{ Handler() http.Handler }); ok {
			handlers = append(handlers, h.Handler())
		}
		var parts sync.WaitGroup
		parts.Go(func() {
			_ = app.Serve(running, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 64, Grace: 5 * time.Second}})
		})
		if l, ok := app.(interface{ Listen(context.Context) error }); ok && p.called == nil {
			parts.Go(func() { _ = l.Listen(running) })
		}
		b.closes = append(b.closes, func() {
			stop()
			parts.Wait()
			if d, ok := app.(interface{ Drain() }); ok {
				d.Drain()
			}
		})
	}
	return nil
}

// The options of every ask.
var chatOptions = []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}} //nolint:gochecknoglobals // a list

// questionOf returns the words by which the cards of an ask are found.
func questionOf(i int) string { return fmt.Sprintf("Which database is number%05d?", i) }

func (b *chatBed) ask(ctx context.Context, i int) (ask.Key, error) {
	a, err := b.session.Ask(ctx, ask.Ask{ID: fmt.Sprint("a", i), Questions: []ask.Question{{ID: "db", Text: questionOf(i), Options: chatOptions}}})
	return ask.Key{Tenant: b.tenant, Session: b.name, ID: a.ID}, err
}

func chatReply(option int, who string) ask.Reply {
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{chatOptions[option].ID}}}, By: ask.By{Principal: "os:" + who, Name: who}}
}

// await waits until every chat has so many cards, of which so many are live.
func (b *chatBed) await(ctx context.Context, cards, live int) error {
	ctx, cancel := context.WithTimeout(ctx, chatPatience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		behind := ""
		for _, typ := range slices.Sorted(maps.Keys(b.chats)) {
			all, open := b.chats[typ].cards(), 0
			for _, c := range all {
				if c.live {
					open++
				}
			}
			if len(all) < cards || open != live {
				behind = fmt.Sprintf("%s has %d cards, %d of them live", typ, len(all), open)
				break
			}
		}
		if behind == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("bench: wait for %d cards, %d of them live: %s: %w", cards, live, behind, ctx.Err())
		case <-look.C:
		}
	}
}

// askNumber returns which ask a card is of; -1: none.
func askNumber(text string) (n int) {
	_, rest, ok := strings.Cut(text, "number")
	if _, err := fmt.Sscanf(rest, "%05d", &n); err != nil || !ok {
		return -1
	}
	return n
}

func typesOf() (all []string) {
	for _, p := range platforms() {
		all = append(all, p.typ)
	}
	return all
}
