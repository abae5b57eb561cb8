package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// arguments are those of the tools other than AskUserQuestion.
type arguments struct {
	AskID       string   `json:"ask_id"`
	WaitSeconds *float64 `json:"wait_seconds"`
	Reason      string   `json:"reason"`
	Limit       int      `json:"limit"`
}

// read parses the arguments. A model reads the faults.
func (c *call) read() (arguments, error) {
	var in arguments
	if err := json.Unmarshal(c.arguments(), &in); err != nil {
		return in, ask.InvalidError("arguments", []ask.Fault{ask.NewFault("", ask.FaultUnreadable, err.Error())})
	}
	var faults []ask.Fault
	if c.req.Params.Name != toolList && !ask.ValidToken(in.AskID) {
		faults = append(faults, ask.NewFault("/ask_id", ask.FaultNotAskID, ask.Clip(in.AskID, 80), []string{toolAsk, toolList}))
	}
	if in.WaitSeconds != nil && *in.WaitSeconds < 0 {
		faults = append(faults, ask.NewFault("/wait_seconds", ask.FaultNegative, *in.WaitSeconds))
	}
	return in, ask.InvalidError("arguments", faults)
}

// seconds converts wait_seconds; nil is the default wait.
func (c *call) seconds(n *float64) time.Duration {
	if n == nil {
		return c.s.opts.Wait
	}
	return time.Duration(min(*n, ask.MaxHold.Seconds()) * float64(time.Second))
}

// begin parses the arguments and opens the session.
func (c *call) begin(ctx context.Context) (arguments, client.Session, error) {
	in, err := c.read()
	if err != nil {
		return in, client.Session{}, err
	}
	session, err := c.s.open.Open(ctx, c.who.Tenant, c.who.Session)
	return in, session, err
}

func (c *call) get(ctx context.Context, session client.Session, id string) (ask.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	return session.Get(ctx, id)
}
