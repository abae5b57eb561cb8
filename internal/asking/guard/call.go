package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// storeLimit bounds one request to the bus.
const storeLimit = 10 * time.Second

// call is a tool call that waits for a person.
type call struct {
	*kept
	id   json.RawMessage // of the client's request, until that has a response; then nil
	line []byte          // the client's request
	end  context.CancelCauseFunc
	done chan struct{} // closed when the call has ended
}

// called handles a tool call of the client.
func (g *guard) called(life, there context.Context, id json.RawMessage, params message, raw json.RawMessage, line []byte) error {
	tool, arguments := params.text("name"), params["arguments"]
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	switch {
	case id == nil:
		return nil // nobody waits for it, and it must not run unseen
	case tool == "":
		return g.client.WriteLine(jsonrpc.Failure(id, jsonrpc.CodeParams, "/params/name is missing; name the tool"))
	case tool == ResultTool:
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.ending {
			return nil
		}
		if len(g.waiting) >= maxOpen {
			return g.client.WriteLine(jsonrpc.Response(id, said("%d calls wait; try again later", maxOpen)))
		}
		ctx, end := context.WithCancelCause(there)
		c := &call{kept: &kept{}, id: id, end: end, done: make(chan struct{})}
		g.waiting[string(id)] = c
		g.serving.Go(func() { g.result(ctx, c, arguments) })
		return nil
	}
	rule := g.opts.Rules.decide(tool, arguments)
	switch rule.Then {
	case Allow:
		return g.server.WriteLine(whole(line))
	case Refuse:
		reason := rule.Reason
		if reason == "" {
			reason = "a rule of the guard refuses this call"
		}
		return g.client.WriteLine(jsonrpc.Response(id, said("not carried out: %s", reason)))
	case Ask:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ending {
		return nil
	}
	if len(g.waiting) >= maxOpen || g.waiting[string(id)] != nil {
		return g.client.WriteLine(jsonrpc.Response(id, said("not carried out: %d calls wait for people, or one with this request id; try again later", len(g.waiting))))
	}
	alive := there
	if rule.WithoutClient {
		alive = life
	}
	ctx, end := context.WithCancelCause(alive)
	c := &call{kept: &kept{ID: cloudevent.NewID(), Server: cmp.Or(g.opts.Name, g.name, "mcp"), Tool: tool, Params: raw, Stays: rule.WithoutClient}, id: id, line: line, end: end, done: make(chan struct{})}
	g.waiting[string(id)], g.known[c.ID] = c, c
	g.serving.Go(func() { g.permit(ctx, c, arguments, rule) })
	return nil
}

// permit asks for a call, and carries it out if it is allowed.
func (g *guard) permit(ctx context.Context, c *call, arguments json.RawMessage, rule Rule) {
	defer g.over(c)
	if err := g.journal.begin(c.kept); err != nil {
		g.answer(c, said("not carried out: %v", err))
		return
	}
	prompt, err := hostcall.ReadCall(c.Server, c.Tool, arguments, lang.Of(g.who.Language))
	var asks client.Session
	if err == nil {
		asks, err = g.open.Open(ctx, g.who.Tenant, g.who.Session)
	}
	if err != nil {
		g.unasked(ctx, c, err)
		return
	}
	a := &prompt.Ask
	g.mu.Lock()
	a.ID, a.Tenant, a.Session, a.Agent = c.ID, g.who.Tenant, g.who.Session, g.who.Agent
	if g.destructive[c.Tool] {
		prompt.MarkDestructive()
	}
	g.mu.Unlock()
	a.Audience, a.MinProof, a.Timeout, a.WhileWaiting = rule.Audience, rule.MinProof, rule.timeout, !c.Stays
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	var asked client.Asked
	if err = sameask.Upload(limited, asks, prompt.Files); err == nil {
		asked, err = asks.AskToWait(limited, *a)
	}
	cancel()
	if err != nil {
		g.unasked(ctx, c, err)
		g.withdraw(ctx, asks, c.ID) // it may be there
		return
	}
	g.await(ctx, c, asks, asked, prompt)
}

// await waits for the decision, and acts on it.
func (g *guard) await(ctx context.Context, c *call, asks client.Session, asked client.Asked, prompt hostcall.Prompt) {
	if g.opts.Waiting != nil {
		defer g.opts.Waiting(&prompt.Ask)()
	}
	late := time.AfterFunc(g.opts.Wait, func() { g.answer(c, pending(c)) })
	o, err := asked.Wait(ctx)
	late.Stop()
	if err != nil {
		if c.Stays && !errors.Is(context.Cause(ctx), errCancelled) {
			g.opts.Logger.WarnContext(ctx, "a call is left to another guard", slog.String("ask_id", c.ID), slog.Any("error", context.Cause(ctx)))
			g.answer(c, pending(c))
			c.release()
			return
		}
		g.withdraw(ctx, asks, c.ID)
		g.settle(ctx, c, said("not carried out: %v", reason(ctx, err)))
		return
	}
	allowed, message := prompt.Allows(&o)
	if !allowed {
		g.settle(ctx, c, said("not carried out: %s", message))
		return
	}
	g.carryOut(ctx, c)
}

// carryOut sends a call that a person allowed to the server, once.
func (g *guard) carryOut(ctx context.Context, c *call) {
	select {
	case <-g.ready: // before, the server would refuse it
	case <-ctx.Done():
		c.release()
		return
	}
	if err := c.start(); err != nil {
		g.settle(ctx, c, said("not carried out: %v", err))
		return
	}
	if id := g.take(c); id != nil { // the client still waits: the server's response passes as it is
		if g.server.WriteLine(whole(c.line)) == nil {
			g.forget(ctx, c)
		}
		return
	}
	own := "askbus-" + c.ID
	got := make(chan json.RawMessage, 1)
	g.mu.Lock()
	g.results[own] = got
	g.mu.Unlock()
	if g.server.WriteLine(request(own, c.Params)) != nil {
		c.release()
		return
	}
	select {
	case result := <-got:
		if err := c.finish(result); err != nil {
			g.opts.Logger.ErrorContext(ctx, "the result of a call cannot be kept", slog.String("ask_id", c.ID), slog.Any("error", err))
		}
	case <-ctx.Done(): // it runs, and nobody will know how it ended
		c.release()
	}
}

// resume waits on for a call whose guard has died.
func (g *guard) resume(ctx context.Context, k *kept) {
	ctx, end := context.WithCancelCause(ctx)
	c := &call{kept: k, end: end, done: make(chan struct{})}
	g.known[k.ID] = c
	g.serving.Go(func() {
		defer g.over(c)
		var params message
		_ = json.Unmarshal(k.Params, &params) // it was an object
		prompt, err := hostcall.ReadCall(k.Server, k.Tool, params["arguments"], lang.Of(g.who.Language))
		if err != nil {
			g.settle(ctx, c, said("not carried out: %v", err))
			return
		}
		asks, err := g.open.Open(ctx, g.who.Tenant, g.who.Session)
		if err != nil {
			c.release() // the next guard tries again
			return
		}
		prompt.Ask.ID, prompt.Ask.Tenant, prompt.Ask.Session = k.ID, g.who.Tenant, g.who.Session
		g.await(ctx, c, asks, asks.Asked(k.ID), prompt)
	})
}

// cancelled ends the wait of a call that the client cancels. It is false if that is none of ours.
func (g *guard) cancelled(id json.RawMessage) bool {
	g.mu.Lock()
	c := g.waiting[string(id)]
	g.mu.Unlock()
	if c == nil || len(id) == 0 {
		return false
	}
	g.take(c) // no response follows
	if !c.Stays {
		c.end(errCancelled)
	}
	return true
}

// take takes the right to answer the client's request; nil if it has a response, or needs none.
func (g *guard) take(c *call) json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := c.id
	c.id = nil
	delete(g.waiting, string(id))
	return id
}

// answer answers the client's request, unless it has a response. It reports whether it did.
func (g *guard) answer(c *call, result json.RawMessage) bool {
	id := g.take(c)
	if id == nil {
		return false
	}
	return g.client.WriteLine(jsonrpc.Response(id, result)) == nil
}

// settle ends a call that is not carried out: its client is told, now or when it asks for the result.
func (g *guard) settle(ctx context.Context, c *call, result json.RawMessage) {
	if g.answer(c, result) {
		g.forget(ctx, c)
		return
	}
	if err := c.finish(result); err != nil {
		g.opts.Logger.ErrorContext(ctx, "the end of a call cannot be kept", slog.String("ask_id", c.ID), slog.Any("error", err))
	}
}

// unasked ends a call for which nobody could be asked.
func (g *guard) unasked(ctx context.Context, c *call, err error) {
	g.settle(ctx, c, said("not carried out, because nobody could be asked: %v", err))
}

func (g *guard) forget(ctx context.Context, c *call) {
	if err := c.forget(); err != nil {
		g.opts.Logger.WarnContext(ctx, "a call cannot be removed", slog.String("ask_id", c.ID), slog.Any("error", err))
	}
}

// over ends the handling of a call.
func (g *guard) over(c *call) {
	g.take(c)
	g.mu.Lock()
	delete(g.known, c.ID)
	g.mu.Unlock()
	c.end(nil)
	close(c.done)
}

// withdraw closes the card of a call on every screen.
func (g *guard) withdraw(ctx context.Context, asks client.Session, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	_, err := asks.Withdraw(ctx, id, "the agent no longer waits for this call")
	if err != nil && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, ask.ErrNotFound) {
		g.opts.Logger.WarnContext(ctx, "cannot withdraw an ask", slog.String("ask_id", id), slog.Any("error", err)) // its lease ends it
	}
}

// reason returns why a wait ended.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func pending(c *call) json.RawMessage {
	return said("pending: a person must allow this call, and nobody has decided yet. It is carried out when it is allowed, once; do not repeat it. Its result: call %s with id %q.", ResultTool, c.ID)
}

// result serves [ResultTool].
func (g *guard) result(ctx context.Context, c *call, arguments json.RawMessage) {
	defer func() { g.take(c); c.end(nil); close(c.done) }()
	var in struct {
		ID   string   `json:"id"`
		Wait *float64 `json:"wait_seconds"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil || !ask.ValidToken(in.ID) {
		g.answer(c, said("/id is missing or no id; give the one that a pending call returned"))
		return
	}
	wait := g.opts.Wait
	if in.Wait != nil && *in.Wait >= 0 && *in.Wait < wait.Seconds() {
		wait = time.Duration(*in.Wait * float64(time.Second))
	}
	g.mu.Lock()
	running := g.known[in.ID]
	g.mu.Unlock()
	if running != nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-running.done:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
	g.answer(c, g.state(ctx, in.ID))
}

// state returns the result of a kept call, or in words how far it is.
func (g *guard) state(ctx context.Context, id string) json.RawMessage {
	k, err := g.journal.find(id)
	if err != nil {
		return said("there is no call %q here: results are kept for a day, for the session that made the call", id)
	}
	if result := k.ended(); result != nil {
		return result
	}
	if !k.take() { // a guard has it, perhaps this one
		if k.started() {
			return said("running: the call %s was allowed, and the server has not answered yet", id)
		}
		return said("pending: nobody has decided the call %s yet; call %s again later", id, ResultTool)
	}
	defer k.release()
	result := k.ended() // it may have ended meanwhile
	switch {
	case result != nil:
		return result
	case k.started():
		return said("unknown, not repeated: the guard ended while the server carried out the call %s. Look for its effects before you make it again.", id)
	case k.Stays:
		return said("pending: the call %s waits for a guard that starts after the one that asked; call %s again later", id, ResultTool)
	}
	if asks, err := g.open.Open(ctx, g.who.Tenant, g.who.Session); err == nil {
		g.withdraw(ctx, asks, id)
	}
	result = said("not carried out: the guard ended before the call %s was allowed", id)
	if err := k.finish(result); err != nil {
		return said("not carried out: %v", fmt.Errorf("%w; the guard ended before the call %s was allowed", err, id))
	}
	return result
}
