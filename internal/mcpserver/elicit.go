package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// multiRound is the first revision in which a server may not send a request of
// its own: a form is part of a result there, and the client calls again.
const multiRound = "2026-07-28"

// formTries is how often a form is shown again to somebody whose answers do
// not fit. The ask stays open on other screens.
const formTries = 3

// forms are the forms that are open in clients, one for an ask.
type forms struct {
	mu   sync.Mutex
	open map[ask.Key]bool
	done sync.WaitGroup
}

func (f *forms) enter(k ask.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[ask.Key]bool{}
	}
	if f.open[k] {
		return false
	}
	f.open[k] = true
	return true
}

func (f *forms) leave(k ask.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, k)
}

// canShow reports whether the client shows forms, and this caller wants them.
func (c *call) canShow() bool {
	init := c.req.Session.InitializeParams()
	if !c.who.Forms || c.s.opts.Decider == nil || init == nil || init.Capabilities == nil {
		return false
	}
	can := init.Capabilities.Elicitation
	return can != nil && (can.Form != nil || can.URL == nil) // an empty capability means forms
}

// rounds reports whether forms are shown by results to which the client
// replies with another call.
func (c *call) rounds() bool {
	return c.canShow() && c.req.Session.InitializeParams().ProtocolVersion >= multiRound
}

// offers reports whether the client is shown a form of the ask, behind which
// this process waits.
func (c *call) offers(a *ask.Ask) bool {
	return c.canShow() && !c.rounds() && !a.NeedsPrincipal() && (ask.By{Proof: ask.ProofHostDialog}).Proves(a.MinProof)
}

// offer shows the ask as a form in the client, beside all other screens, until
// it has ended. It outlives the call: an agent that waits on later finds the
// form still open. Whatever fails here, the ask stays open elsewhere.
func (c *call) offer(a *ask.Ask) {
	if !c.offers(a) || !c.s.form.enter(a.Key()) {
		return
	}
	shown := *a
	c.s.form.done.Go(func() {
		defer c.s.form.leave(shown.Key())
		ctx, cancel := context.WithCancel(c.life)
		defer cancel()
		var watch sync.WaitGroup
		defer watch.Wait()
		watch.Go(func() {
			c.untilEnded(ctx, shown.Key())
			cancel() // which closes the form
		})
		if err := c.show(ctx, &shown); err != nil && ctx.Err() == nil {
			c.s.opts.Logger.WarnContext(ctx, "the form in the client failed; the ask stays open elsewhere", slog.String("ask_id", shown.ID), slog.Any("error", err))
		}
		cancel()
	})
}

// untilEnded waits for the ask's end, or ctx's.
func (c *call) untilEnded(ctx context.Context, k ask.Key) {
	session, err := c.s.open.Open(ctx, k.Tenant, k.Session)
	if err != nil {
		<-ctx.Done()
		return
	}
	if _, err := session.Wait(ctx, k.ID); err != nil {
		<-ctx.Done()
	}
}

// show shows the form until it is answered in a way that counts, or closed.
func (c *call) show(ctx context.Context, a *ask.Ask) error {
	fault := ""
	for range formTries {
		res, err := c.req.Session.Elicit(ctx, elicitation(a, fault))
		if err != nil {
			return err
		}
		if _, err = c.decide(ctx, a, res); !errors.Is(err, ask.ErrInvalid) {
			if winner(err) != nil {
				return nil // somebody was faster; the result says who
			}
			return err
		}
		fault = faultWords(a, err)
	}
	return nil
}

// faultWords says what was wrong with a form's answers, in the ask's language.
func faultWords(a *ask.Ask, err error) string {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || a.Language() == lang.English || len(e.Faults) == 0 {
		return err.Error()
	}
	words := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		words[i] = ask.Translate(a.Language(), f.Message)
		if q := a.Question(f.QuestionID); q != nil {
			words[i] = q.Text + " " + words[i]
		}
	}
	return strings.Join(words, "；")
}

// form is the dialect in which a client shows a form.
func form() dialect.Dialect {
	d, _ := dialect.Lookup("elicitation")
	return d
}

// elicitation is the ask as a form; fault says what was wrong with the last
// answers.
func elicitation(a *ask.Ask, fault string) *mcp.ElicitParams {
	body, _ := form().Show(a)
	var p mcp.ElicitParams
	if err := json.Unmarshal(body, &p); err != nil {
		return &mcp.ElicitParams{Mode: "form", Message: a.Heading()}
	}
	if fault != "" {
		p.Message = lang.Of(a.Language()).Say("That does not fit: %s", fault) + "\n\n" + p.Message
	}
	return &p
}

// decide sends on what the person did at the form. Closing it decides nothing:
// then the outcome is nil.
func (c *call) decide(ctx context.Context, a *ask.Ask, res *mcp.ElicitResult) (*ask.Outcome, error) {
	if err := c.askedHere(ctx, a.Key()); err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"action": res.Action, "content": res.Content})
	if err != nil {
		return nil, err
	}
	given, err := form().Reply(a, body)
	if err != nil {
		return nil, err
	}
	given.Reply.By = c.who.Human
	given.Reply.By.Proof = ask.ProofHostDialog
	var o ask.Outcome
	switch given.Decision {
	case dialect.Dismissed:
		return nil, nil
	case dialect.Declined:
		o, err = c.s.opts.Decider.Decline(ctx, a.Key(), given.Reply, given.Reason)
	case dialect.Replied:
		o, err = c.s.opts.Decider.Answer(ctx, a.Key(), given.Reply)
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// unproven refuses a form from a client without the credential of a host.
func (c *call) unproven() error {
	say := c.who.Unproven
	if say == "" {
		say = "forms are switched off here, so none is answered"
	}
	return ask.Refuse(ask.CodeForbidden, "%s", say)
}

// askedHere sees that the client whose form is answered asked this very ask.
func (c *call) askedHere(ctx context.Context, k ask.Key) error {
	if c.who.Mark == nil {
		return nil
	}
	session, err := c.s.open.Open(ctx, k.Tenant, k.Session)
	if err != nil {
		return err
	}
	rec, err := session.Get(ctx, k.ID)
	if err != nil {
		return err
	}
	if !rec.Ask.AskedBy(c.who.Mark(k)) {
		return ask.Refuse(ask.CodeForbidden, "another host asked %s, or none did; a form answers only what its own client asked", k)
	}
	return nil
}

// winner is the outcome that was first, or nil.
func winner(err error) *ask.Outcome {
	if e, ok := errors.AsType[*ask.Error](err); ok && errors.Is(err, ask.ErrResolved) {
		return e.Outcome
	}
	return nil
}
