package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// storeLimit bounds the attempts to store or read an ask while the broker is unreachable.
const storeLimit = 10 * time.Second

// ask serves AskUserQuestion.
func (c *call) ask(ctx context.Context) (*mcp.CallToolResult, error) {
	arguments, files, uploads, err := c.takeFiles(c.arguments())
	if err != nil {
		return failed(err), nil
	}
	in, err := readCall(arguments)
	if err != nil {
		return failed(err), nil
	}
	patient := in.Wait < 0 // the agent says nothing of how long it waits
	if patient {
		in.Wait = c.s.opts.Wait
	}
	in.Ask.Files = files
	c.introduce(&in.Ask)
	if len(c.req.Params.InputResponses) > 0 && !c.who.Forms {
		return failed(c.unproven()), nil
	}
	session, err := c.s.open.Open(ctx, c.who.Tenant, c.who.Session)
	if err != nil {
		return failed(err), nil
	}
	if in.Ask.ExcludeAsker && c.who.Human.Principal != "" && !session.HasAsker() {
		in.Ask.Asker = []string{c.who.Human.Principal}
	}
	from := sameask.Origin{Call: sameask.TakeCall(&in.Ask)}
	form, answered := c.returned()
	if answered {
		in.Ask.ID = form.askID(&in.Ask, from)
	}
	from.Waits = in.Wait > 0 && !c.rounds() && (!c.tasks() || !patient)
	in.Ask.WhileWaiting = c.offers(&in.Ask) && !c.who.Outlive
	if err := sameask.Upload(ctx, session, uploads); err != nil {
		return failed(err), nil
	}
	st, err := c.attach(ctx, session, &in.Ask, from)
	if err != nil {
		return failed(err), nil
	}
	n := notes{warnings: st.Warnings, present: st.Present, link: c.link(&in.Ask)}
	for _, w := range in.Warnings {
		n.warnings = append(n.warnings, w.String())
	}
	switch {
	case answered:
		return c.submit(ctx, session, &in.Ask, st, form, in.Wait, n)
	case st.Outcome != nil:
		n.again = true
		c.delivered(ctx, session, in.Ask.ID)
		return c.ended(ctx, session, &in.Ask, st.Outcome, n), nil
	case c.rounds() && in.Wait > 0:
		return c.formRound(&in.Ask, ""), nil
	case c.tasks() && patient:
		in.Ask.Deadline = st.Deadline
		return c.hand(ctx, &in.Ask, n), nil
	}
	c.offer(&in.Ask) //nolint:contextcheck // the form outlives the call
	return c.wait(ctx, session, &in.Ask, st, in.Wait, n)
}

func (c *call) arguments() []byte {
	if len(c.req.Params.Arguments) == 0 {
		return []byte("{}")
	}
	return c.req.Params.Arguments
}

// introduce sets who asks, as far as the caller and its client say.
func (c *call) introduce(a *ask.Ask) {
	a.Tenant, a.Session, a.Agent = c.who.Tenant, c.who.Session, c.who.Agent
	if path, ok := c.req.Params.Meta["dev.askbus/agent"].(string); ok {
		work := a.Agent
		a.Agent = AgentPath(path)
		a.Agent.Repository, a.Agent.Branch, a.Agent.Link = work.Repository, work.Branch, work.Link
	}
	if init := c.req.Session.InitializeParams(); a.Agent.Name == "" && init != nil && init.ClientInfo != nil {
		a.Agent.Name = init.ClientInfo.Title
		if a.Agent.Name == "" {
			a.Agent.Name = init.ClientInfo.Name
		}
	}
	maps.Copy(a.Metadata, c.who.Metadata)
}

// AgentPath parses the path of an agent, such as "planner/a-1/builder": its name after the agents
// that started it.
func AgentPath(path string) ask.Agent {
	path = strings.Trim(path, "/")
	if at := strings.LastIndexByte(path, '/'); at >= 0 {
		return ask.Agent{Parent: path[:at], Name: path[at+1:]}
	}
	return ask.Agent{Name: path}
}

// attach stores the ask, or finds the same one that is stored, such as that of a call that was cut off.
func (c *call) attach(ctx context.Context, session client.Session, a *ask.Ask, from sameask.Origin) (client.Asked, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	from.Sign = c.sign
	return sameask.Ask(ctx, session, a, from)
}

// delivered records that the agent is about to get the outcome of an ask, unless its call is over.
func (c *call) delivered(ctx context.Context, session client.Session, id string) {
	if ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	if err := sameask.Delivered(limited, session, id); err != nil {
		c.s.opts.Logger.WarnContext(ctx, "cannot record that an outcome is delivered", slog.String("ask_id", id), slog.Any("error", err))
	}
}

// sign adds the mark of the client with the forms to the ask, for its id.
func (c *call) sign(a *ask.Ask) {
	if !c.who.Forms || c.who.Mark == nil {
		return
	}
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	a.Metadata[ask.MetadataHost] = c.who.Mark(a.Key())
}

// wait waits for the outcome until the call's limit. A disconnect ends only the call.
func (c *call) wait(ctx context.Context, session client.Session, a *ask.Ask, asked client.Asked, limit time.Duration, n notes) (*mcp.CallToolResult, error) {
	if a.Approval != nil || len(a.Escalate) > 0 || asked.Progress != "" { // a policy may demand votes
		n.votes = func(ctx context.Context) string {
			rec, err := c.get(ctx, session, a.ID)
			if err != nil {
				return "" // the words without them hold as well
			}
			return rec.Waits(a.Language(), time.Now())
		}
	}
	if limit <= 0 {
		return pending(ctx, a, n), nil
	}
	within, cancel := context.WithDeadline(ctx, c.began.Add(limit))
	defer cancel()
	defer context.AfterFunc(c.life, cancel)() //nolint:contextcheck // the server may end before the call
	defer context.AfterFunc(c.over, cancel)() //nolint:contextcheck // so may the caller's right to call
	if c.s.opts.Waiting != nil {
		defer c.s.opts.Waiting(a)()
	}
	stop := c.progress(within, n)
	o, err := asked.Wait(within)
	stop()
	switch {
	case err == nil:
		c.delivered(ctx, session, a.ID)
		return c.ended(ctx, session, a, &o, n), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), c.life.Err() != nil, c.over.Err() != nil:
		return pending(ctx, a, n), nil
	}
	return failed(err), nil
}

func (c *call) link(a *ask.Ask) string {
	if c.s.opts.Link == nil {
		return ""
	}
	return c.s.opts.Link(a.Key())
}
