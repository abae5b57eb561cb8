package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// multiRound is the first revision in which servers may not send requests: a form is part of a
// result, and the client calls again.
const multiRound = "2026-07-28"

// formTries is how often a form with invalid answers is shown. The ask stays open on other screens.
const formTries = 3

// forms are the open forms in clients, one per ask.
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

// canShow reports whether the client supports forms and the caller wants them.
func (c *call) canShow() bool {
	init := c.req.Session.InitializeParams()
	if !c.who.Forms || c.s.opts.Decider == nil || init == nil || init.Capabilities == nil {
		return false
	}
	can := init.Capabilities.Elicitation
	return can != nil && (can.Form != nil || can.URL == nil) // an empty capability includes forms
}

// rounds reports whether forms are results to which the client responds with another call.
func (c *call) rounds() bool {
	return c.canShow() && c.req.Session.InitializeParams().ProtocolVersion >= multiRound
}

// offers reports whether this process shows the client a form and waits for it.
func (c *call) offers(a *ask.Ask) bool {
	return c.canShow() && !c.rounds() && !a.NeedsPrincipal() && (ask.By{Proof: ask.ProofHostDialog}).Proves(a.MinProof)
}

// offer shows the ask as a form in the client until the ask ends, in addition to all other screens.
// It outlives the call: an agent that waits on later finds the form still open. If it fails, the
// ask stays open elsewhere.
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
			cancel() // closes the form
		})
		if err := c.show(ctx, &shown); err != nil && ctx.Err() == nil {
			c.s.opts.Logger.WarnContext(ctx, "the form in the client failed; the ask stays open elsewhere", slog.String("ask_id", shown.ID), slog.Any("error", err))
		}
		cancel()
	})
}

// untilEnded waits for the end of the ask, or of ctx.
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

// show shows the form until it has a valid answer or is closed.
func (c *call) show(ctx context.Context, a *ask.Ask) error {
	fault := ""
	for range formTries {
		res, err := c.req.Session.Elicit(ctx, elicitation(a, fault))
		if err != nil {
			return err
		}
		if _, err = c.decide(ctx, a, res); !errors.Is(err, ask.ErrInvalid) {
			if winner(err) != nil {
				return nil // an answer came first; the result has it
			}
			return err
		}
		fault = faultWords(a, err)
	}
	return nil
}

// faultWords describes the faults of a form's answers, in the ask's language.
func faultWords(a *ask.Ask, err error) string {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || len(e.Faults) == 0 {
		return err.Error()
	}
	words := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		words[i] = f.Sentence(a.Language())
		if q := a.Question(f.QuestionID); q != nil {
			if f.Code == ask.FaultNoAnswer {
				words[i] = lang.Of(a.Language()).Say("This one needs an answer.")
			}
			words[i] = q.Text + " " + words[i]
		}
	}
	return strings.Join(words, " ")
}

// elicitation returns the ask as a form; fault describes the faults of the previous answers.
func elicitation(a *ask.Ask, fault string) *mcp.ElicitParams {
	body, _ := dialect.Named("elicitation").Show(a)
	var p mcp.ElicitParams
	if err := json.Unmarshal(body, &p); err != nil {
		return &mcp.ElicitParams{Mode: "form", Message: a.Heading()}
	}
	if fault != "" {
		p.Message = lang.Of(a.Language()).Say("That does not fit: %s", fault) + "\n\n" + p.Message
	}
	return &p
}

// decide sends the person's decision at the form. A closed form is no decision: then the outcome is
// nil.
func (c *call) decide(ctx context.Context, a *ask.Ask, res *mcp.ElicitResult) (*ask.Outcome, error) {
	if err := c.askedHere(ctx, a.Key()); err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"action": res.Action, "content": res.Content})
	if err != nil {
		return nil, err
	}
	given, err := dialect.Named("elicitation").Reply(a, body)
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

// unproven refuses a form from a client without a host's credential.
func (c *call) unproven() error {
	say := c.who.Unproven
	if say == "" {
		say = "forms are turned off here"
	}
	return ask.Refuse(ask.CodeForbidden, "%s", say)
}

// askedHere checks that the client that answers the form asked this ask.
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
		return ask.Refuse(ask.CodeForbidden, "ask %s is not from this host; a form answers only its own client's asks", k)
	}
	return nil
}

// winner returns the outcome that came first, or nil.
func winner(err error) *ask.Outcome {
	if e, ok := errors.AsType[*ask.Error](err); ok && errors.Is(err, ask.ErrResolved) {
		return e.Outcome
	}
	return nil
}
