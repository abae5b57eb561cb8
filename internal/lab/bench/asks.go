package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// responderType is the responder type of the bench's answers.
const responderType = "bench"

// surface returns the responder type of the answering credential.
func (b *Bed) surface() string {
	if b.shared {
		return subject.TypeOperator
	}
	return responderType
}

// Asks is askbus as a [System]: agents on pkg/client, one connection each, and a live screen on
// pkg/responder that answers every ask at once.
type Asks struct {
	bed     *Bed
	agents  []client.Session
	screen  *responder.Responder
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	failed error // of an answer: the cycle would only time out
	seen   func(ask.Record)
}

// NewAsks connects the agents and the responder.
func (b *Bed) NewAsks(ctx context.Context, agents int) (*Asks, error) {
	a := &Asks{bed: b}
	for _, session := range b.sessions(agents) {
		nc, err := b.open(rights.Role{Name: rights.RoleAgent, Tenant: b.Tenant, Session: session})
		if err != nil {
			return nil, err
		}
		c, err := client.New(nc, client.Options{Logger: b.log})
		if err != nil {
			return nil, err
		}
		a.agents = append(a.agents, c.Session(b.Tenant, session))
	}
	if err := a.answerAll(ctx); err != nil {
		return nil, err
	}
	b.later(func() { a.close(ctx) })
	return a, nil
}

// sessions returns the names of n sessions, spread evenly over the partitions.
func (b *Bed) sessions(n int) []string {
	names := make([]string, 0, n)
	parts := max(1, b.Partitions)
	share := make([]int, parts)
	for i := 0; len(names) < n; i++ {
		name := b.run + "-" + strconv.Itoa(i)
		if p := subject.Partition(b.Tenant, name, parts); share[p] <= len(names)/parts {
			share[p]++
			names = append(names, name)
		}
	}
	return names
}

// answerAll starts the responder and waits until it has read the pending asks.
func (a *Asks) answerAll(ctx context.Context) error {
	nc, err := a.bed.open(rights.Role{Name: rights.RoleResponder, Type: responderType, Tenant: a.bed.Tenant})
	if err != nil {
		return err
	}
	if a.screen, err = responder.New(nc, a.bed.surface(), responder.Options{Tenant: a.bed.Tenant, Limit: 1 << 20, Logger: a.bed.log}); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	synced := make(chan struct{})
	var once sync.Once
	ended := make(chan error, 1)
	a.running.Go(func() {
		ended <- board.Watch(watching, a.screen, func(e board.Event) {
			switch e.Kind {
			case board.Synced:
				once.Do(func() { close(synced) })
			case board.Pending:
				a.shown(watching, e.Record)
			case board.Resolved, board.Offline, board.Reset, board.Changed:
			}
		})
	})
	select {
	case <-synced:
		return nil
	case err := <-ended:
		return errors.Join(err, errors.New("bench: the responder ended by itself"))
	case <-time.After(time.Minute):
		return errors.New("bench: the responder has not seen what is pending after a minute")
	}
}

// shown answers an ask of this run and ignores all others.
func (a *Asks) shown(ctx context.Context, r ask.Record) {
	if r.Ask.Tenant != a.bed.Tenant || !strings.HasPrefix(r.Ask.Session, a.bed.run) ||
		r.Ask.Metadata["bench"] != "cycle" && !strings.HasSuffix(r.Ask.Session, httpSession) {
		return
	}
	a.mu.Lock()
	seen := a.seen
	a.mu.Unlock()
	if seen != nil {
		seen(r)
	}
	a.running.Go(func() {
		_, err := a.screen.Answer(ctx, r.Ask.Key(), replyTo(&r.Ask))
		if err != nil && ctx.Err() == nil && !errors.Is(err, nats.ErrConnectionClosed) {
			a.mu.Lock()
			a.failed = fmt.Errorf("answer: %w", err)
			a.mu.Unlock()
		}
	})
}

// onShown calls f for every ask of the responder before it answers.
func (a *Asks) onShown(f func(ask.Record)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = f
}

// Cycle implements [System].
func (a *Asks) Cycle(ctx context.Context, slot int) error {
	_, err := a.one(ctx, slot)
	return err
}

func (a *Asks) one(ctx context.Context, slot int) (ask.Outcome, error) {
	return a.end(ctx, slot, question("cycle"), ask.StatusAnswered)
}

// end asks q and waits for the expected outcome.
func (a *Asks) end(ctx context.Context, slot int, q ask.Ask, want ask.Status) (ask.Outcome, error) {
	o, err := a.agent(slot).AskAndWait(ctx, q)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		return ask.Outcome{}, errors.Join(err, a.failed)
	}
	if o.Status != want {
		return ask.Outcome{}, fmt.Errorf("ask %s ended as %s, not %s", o.AskID, o.Status, want)
	}
	return o, nil
}

func (a *Asks) agent(slot int) client.Session { return a.agents[slot%len(a.agents)] }

func (a *Asks) close(ctx context.Context) {
	a.stop()
	a.running.Wait()
	if a.bed.shared {
		a.takeBack(ctx)
	}
}

// question returns an ask of ordinary size. purpose decides who may answer it: the bench's
// responder answers only those of cycles. Its timeout is short, so that a killed run leaves nothing
// for long.
func question(purpose string) ask.Ask {
	return ask.Ask{
		Title:   "Ledger storage",
		Context: "The ledger needs a store. I have read both drivers; the schema fits either, and the migration is an hour's work. Nothing is deployed yet.",
		Agent:   ask.Agent{ID: "a-7", Name: "builder"}, Timeout: 5 * time.Minute, Metadata: map[string]any{"bench": purpose},
		Questions: []ask.Question{{
			ID: "db", Kind: ask.KindChoice, Header: "Storage", Text: "Which database should the ledger use?",
			Options: []ask.Option{
				{ID: "pg", Label: "PostgreSQL", Description: "already deployed", Recommended: true},
				{ID: "lite", Label: "SQLite", Description: "one file, no server"},
				{ID: "stop", Label: "Neither", Cancels: true},
			},
		}},
	}
}

// replyTo is [reply] for an ask that may have come over HTTP, where question and option ids differ.
func replyTo(a *ask.Ask) ask.Reply {
	r := reply()
	if q := &a.Questions[0]; q.ID != r.Answers[0].QuestionID || q.Option(r.Answers[0].Selected[0]) == nil {
		r.Answers[0].QuestionID, r.Answers[0].Selected = q.ID, []string{q.Options[0].ID}
	}
	return r
}

// reply returns a person's reply to [question].
func reply() ask.Reply {
	return ask.Reply{
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "keep 14 days of backups"}},
		By:      ask.By{Principal: "os:bench", Name: "Bench", Proof: ask.ProofOS},
	}
}
