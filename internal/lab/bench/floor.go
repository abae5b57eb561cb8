package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The floor's own names, so that it never touches the ledger.
const (
	floorRoot   = "floorv1"
	floorOut    = "flooroutv1"
	floorStream = "FLOOR_%02d"
)

// Floor is raw NATS as a [System]: the two durable writes of an ask cycle, with the ledger's exact
// headers and bytes, on streams of the same configuration, and the same deliveries. It reads,
// checks and decides nothing.
type Floor struct {
	bed           *Bed
	parts         int
	q, o          *nats.Msg // as the ledger stored them
	agents        []*floorAgent
	screen        *nats.Conn
	answering     sync.WaitGroup
	mu            sync.Mutex
	answerFailure error
}

type floorAgent struct {
	nc      *nats.Conn
	session string

	mu    sync.Mutex
	waits map[string]chan struct{}
}

// NewFloor makes the floor of a bed. It copies the ledger's writes from one cycle of like.
func (b *Bed) NewFloor(ctx context.Context, like *Asks) (*Floor, error) {
	f := &Floor{bed: b, parts: max(1, b.Partitions)}
	if err := f.learn(ctx, like); err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	connect, err := b.floor()
	if err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	if f.screen, err = connect(rights.Role{Name: rights.RoleResponder}); err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	b.later(f.screen.Close)
	if err := f.streams(ctx); err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	if err := f.connect(ctx, connect, len(like.agents)); err != nil {
		return nil, fmt.Errorf("bench: floor: %w", err)
	}
	return f, nil
}

// learn reads the stored question and outcome of one cycle.
func (f *Floor) learn(ctx context.Context, like *Asks) error {
	nc, err := f.bed.open(rights.Role{Name: rights.RoleResponder, Type: responderType})
	if err != nil {
		return err
	}
	stored := make(chan *nats.Msg, 1024)
	for _, kind := range []string{subject.Question, subject.Outcome} {
		sub, err := nc.ChanSubscribe(subject.OutAll(f.bed.Tenant, "", kind), stored)
		if err != nil {
			return err
		}
		defer sub.Unsubscribe() //nolint:errcheck // the connection closes with the bed
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	end, err := like.one(ctx, 0)
	if err != nil {
		return err
	}
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for f.q == nil || f.o == nil {
		select {
		case m := <-stored:
			switch k, kind, ok := subject.ParseOut(m.Subject); {
			case !ok || k.ID != end.AskID:
			case kind == subject.Question:
				f.q = asStored(m)
			default:
				f.o = asStored(m)
			}
		case <-limit.C:
			return errors.New("the ledger's messages were not republished")
		}
	}
	if f.q.Header.Get("Nats-Schedule") == "" || f.o.Header.Get("Nats-Schedule-Next") != "purge" {
		return errors.New("the ledger's messages lack the headers of schedules")
	}
	return nil
}

// asStored removes the headers that republishing added.
func asStored(m *nats.Msg) *nats.Msg {
	stored := &nats.Msg{Header: maps.Clone(m.Header), Data: m.Data}
	for _, added := range []string{"Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Last-Sequence", "Nats-Time-Stamp", "Nats-Msg-Size"} {
		stored.Header.Del(added)
	}
	return stored
}

// streams creates streams like the ledger's, under the floor's names.
func (f *Floor) streams(ctx context.Context) error {
	js, err := jetstream.New(f.screen)
	if err != nil {
		return err
	}
	for p := range f.parts {
		name := fmt.Sprintf(floorStream, p)
		cfg := jetstream.StreamConfig{
			Name: name, Subjects: []string{fmt.Sprintf("%s.%02d.>", floorRoot, p)}, Storage: jetstream.FileStorage, Replicas: max(1, f.bed.Replicas),
			Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxMsgsPerSubject: -1,
			AllowDirect: true, AllowMsgTTL: true, AllowMsgSchedules: true, AllowRollup: true, DenyDelete: true,
			RePublish: &jetstream.RePublish{
				Source:      floorRoot + ".*.*.*.*.*",
				Destination: floorOut + ".{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.{{wildcard(5)}}",
			},
		}
		if err := createStream(ctx, js, cfg); err != nil {
			return err
		}
		f.bed.later(func() {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			if err := js.DeleteStream(end, name); err != nil {
				f.bed.log.Warn("cannot delete a stream of the floor", slog.String("stream", name), slog.Any("error", err))
			}
		})
	}
	return nil
}

// createStream retries while a newly started cluster has no leader.
func createStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) error {
	for end := time.Now().Add(30 * time.Second); ; {
		_, err := js.CreateStream(ctx, cfg)
		if err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		if err := backoff.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// connect subscribes the responder and as many agents as askbus has.
func (f *Floor) connect(ctx context.Context, connect func(rights.Role) (*nats.Conn, error), agents int) error {
	if _, err := f.screen.Subscribe(floorOut+".*.*.*."+subject.Question, func(m *nats.Msg) {
		f.answering.Go(func() { f.answer(ctx, m) })
	}); err != nil {
		return err
	}
	for _, session := range f.bed.sessions(agents) {
		nc, err := connect(rights.Role{Name: rights.RoleAgent})
		if err != nil {
			return err
		}
		f.bed.later(nc.Close)
		a := &floorAgent{nc: nc, session: session, waits: map[string]chan struct{}{}}
		if _, err := nc.Subscribe(strings.Join([]string{floorOut, f.bed.Tenant, session, "*", subject.Outcome}, "."), a.receive); err != nil {
			return err
		}
		if err := nc.Flush(); err != nil {
			return err
		}
		f.agents = append(f.agents, a)
	}
	f.bed.later(f.answering.Wait)
	return f.screen.Flush()
}

// receive handles an outcome.
func (a *floorAgent) receive(m *nats.Msg) {
	id := strings.Split(m.Subject, ".")[3]
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch := a.waits[id]; ch != nil {
		close(ch)
		delete(a.waits, id)
	}
}

// Cycle implements [System].
func (f *Floor) Cycle(ctx context.Context, slot int) error {
	a := f.agents[slot%len(f.agents)]
	k := ask.Key{Tenant: f.bed.Tenant, Session: a.session, ID: cloudevent.NewID()}
	done := make(chan struct{})
	a.mu.Lock()
	a.waits[k.ID] = done
	a.mu.Unlock()
	at := f.subject(k)
	msg := &nats.Msg{Subject: at + "." + subject.Question, Header: maps.Clone(f.q.Header), Data: f.q.Data}
	msg.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", at+".*")
	msg.Header.Set("Nats-Schedule-Target", at+"."+subject.Outcome)
	if err := store(ctx, a.nc, msg); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		return errors.Join(ctx.Err(), f.answerFailure)
	}
}

// answer stores the outcome of a question that the responder received.
func (f *Floor) answer(ctx context.Context, m *nats.Msg) {
	t := strings.Split(m.Subject, ".")
	at := f.subject(ask.Key{Tenant: t[1], Session: t[2], ID: t[3]})
	msg := &nats.Msg{Subject: at + "." + subject.Outcome, Header: maps.Clone(f.o.Header), Data: f.o.Data}
	msg.Header.Set("Nats-Scheduler", at+"."+subject.Question)
	ctx, cancel := context.WithTimeout(ctx, cycleLimit)
	defer cancel()
	if err := store(ctx, f.screen, msg); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.answerFailure = err
	}
}

func (f *Floor) subject(k ask.Key) string {
	return fmt.Sprintf("%s.%02d.%s.%s.%s", floorRoot, subject.Partition(k.Tenant, k.Session, f.parts), k.Tenant, k.Session, k.ID)
}

// store publishes and waits until the message is durable.
func store(ctx context.Context, nc *nats.Conn, msg *nats.Msg) error {
	reply, err := nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return fmt.Errorf("floor: publish: %w", err)
	}
	var ack struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return fmt.Errorf("floor: publish: %w", err)
	}
	if ack.Error != nil {
		return fmt.Errorf("floor: publish: %s", ack.Error.Description)
	}
	return nil
}
