package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments of the tools beside AskUserQuestion.
type arguments struct {
	AskID       string   `json:"ask_id"`
	WaitSeconds *float64 `json:"wait_seconds"`
	Reason      string   `json:"reason"`
	Limit       int      `json:"limit"`
}

// read reads them; the fault is for a model to read.
func (c *call) read() (arguments, error) {
	var in arguments
	if err := json.Unmarshal(c.arguments(), &in); err != nil {
		return in, ask.InvalidError("arguments", []ask.Fault{{Message: err.Error()}})
	}
	var faults []ask.Fault
	if c.req.Params.Name != ToolList && !ask.ValidToken(in.AskID) {
		faults = append(faults, ask.Fault{Pointer: "/ask_id", Message: fmt.Sprintf("is %.80q; give the ask_id that %s or %s returned", in.AskID, ToolAsk, ToolList)})
	}
	if in.WaitSeconds != nil && *in.WaitSeconds < 0 {
		faults = append(faults, ask.Fault{Pointer: "/wait_seconds", Message: fmt.Sprintf("is %v; give 0 or more", *in.WaitSeconds)})
	}
	return in, ask.InvalidError("arguments", faults)
}

// seconds is how long a call waits.
func (c *call) seconds(n *float64) time.Duration {
	if n == nil {
		return c.s.opts.Wait
	}
	return time.Duration(min(*n, ask.MaxHold.Seconds()) * float64(time.Second))
}

// await serves AwaitAnswer.
func (c *call) await(ctx context.Context) (*mcp.CallToolResult, error) {
	in, conn, err := c.begin(ctx)
	if err != nil {
		return failed(err), nil
	}
	defer conn.Close() //nolint:errcheck // only a subscription goes with it
	rec, err := c.get(ctx, conn, in.AskID)
	if err != nil {
		return failed(err), nil
	}
	n := notes{link: c.link(&rec.Ask)}
	if rec.Outcome != nil {
		return ended(&rec.Ask, rec.Outcome, n), nil
	}
	return c.wait(ctx, conn, &rec.Ask, c.seconds(in.WaitSeconds), n)
}

// begin reads the arguments and opens the way to the session's asks.
func (c *call) begin(ctx context.Context) (arguments, *client.Client, error) {
	in, err := c.read()
	if err != nil {
		return in, nil, err
	}
	conn, err := c.s.open.Open(ctx, c.who.Tenant, c.who.Session)
	return in, conn, err
}

func (c *call) get(ctx context.Context, conn *client.Client, id string) (ask.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	return conn.Get(ctx, id)
}

// withdraw serves WithdrawQuestion. Somebody who was faster has answered, and
// that is what the agent is told.
func (c *call) withdraw(ctx context.Context) (*mcp.CallToolResult, error) {
	in, conn, err := c.begin(ctx)
	if err != nil {
		return failed(err), nil
	}
	defer conn.Close() //nolint:errcheck // only a subscription goes with it
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	_, err = conn.Withdraw(limited, in.AskID, in.Reason)
	if o := winner(err); o != nil {
		rec, err := c.get(ctx, conn, in.AskID)
		if err != nil {
			return failed(err), nil
		}
		return ended(&rec.Ask, o, notes{late: "It was too late to withdraw: the question had ended."}), nil
	}
	if err != nil {
		return failed(err), nil
	}
	return result([]string{"withdrawn: the question " + in.AskID + " is closed on every screen"}, nil,
		map[string]any{"ask_id": in.AskID, "status": ask.StatusWithdrawn}, notes{}, false), nil
}

// list serves ListPendingQuestions.
func (c *call) list(ctx context.Context) (*mcp.CallToolResult, error) {
	in, conn, err := c.begin(ctx)
	if err != nil {
		return failed(err), nil
	}
	defer conn.Close() //nolint:errcheck // only a subscription goes with it
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	if in.Limit <= 0 {
		in.Limit = 20
	}
	page, err := conn.List(limited, client.Query{State: ask.StatePending, Limit: min(in.Limit, 100)})
	if err != nil {
		return failed(err), nil
	}
	type item struct {
		AskID    string    `json:"ask_id"`
		Question string    `json:"question"`
		AskedAt  time.Time `json:"asked_at"`
		Deadline time.Time `json:"deadline"`
		Agent    string    `json:"agent,omitempty"`
		Shown    []string  `json:"shown,omitempty"` // where, as far as surfaces say
	}
	items := []item{}
	lines := []string{fmt.Sprintf("%d open:", len(page.Items))}
	for _, rec := range page.Items {
		it := item{AskID: rec.Ask.ID, Question: rec.Ask.Heading(), AskedAt: rec.AskedAt.UTC(), Deadline: rec.Ask.Deadline.UTC(), Agent: rec.Ask.Agent.Name}
		for _, r := range rec.Receipts {
			if r.State == ask.ReceiptPosted {
				it.Shown = append(it.Shown, strings.TrimSpace(r.Type+" "+r.Where))
			}
		}
		items = append(items, it)
		lines = append(lines, fmt.Sprintf("- %s: %q, asked at %s", it.AskID, it.Question, it.AskedAt.Format(time.RFC3339)))
	}
	more := map[string]any{"questions": items}
	switch {
	case len(items) == 0:
		lines[0] = "No question of this session is open."
	case page.Next != "":
		lines = append(lines, "There are more.")
		more["more"] = true
	}
	return result(lines, nil, more, notes{}, false), nil
}
