package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// formKey names our one input request.
const formKey = "answer"

// returnedForm is a form that a client sends back with another call.
type returnedForm struct {
	res   *mcp.ElicitResult
	state string
}

// formRound asks the client to show the form and to call again. Meanwhile the
// ask is open on every other screen.
func (c *call) formRound(a *ask.Ask, fault string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{formKey: elicitation(a, fault)},
		RequestState:  a.ID,
	}
}

// returned is the form that this call sends back, if it does.
func (c *call) returned() (returnedForm, bool) {
	res, ok := c.req.Params.InputResponses[formKey].(*mcp.ElicitResult)
	if !ok || !c.rounds() {
		return returnedForm{}, false
	}
	return returnedForm{res, c.req.Params.RequestState}, true
}

// askID is the id of the ask that the form was about. The state comes from the
// client, so it is believed only as far as it names an ask of this very
// content; the session is the caller's own in any case.
func (f returnedForm) askID(a *ask.Ask) string {
	if a.ID != "" {
		return a.ID
	}
	base, err := contentID(a)
	if err != nil {
		return ""
	}
	number, ok := strings.CutPrefix(f.state, base+"-")
	if n, err := strconv.Atoi(number); f.state == base || ok && err == nil && n > 1 && numbered(base, n) == f.state {
		return f.state
	}
	return ""
}

// submit sends on what the form says. The outcome that was first is the result, and
// the words say so; a closed form leaves the ask open and the call waiting.
func (c *call) submit(ctx context.Context, session client.Session, a *ask.Ask, f returnedForm, limit time.Duration, n notes) (*mcp.CallToolResult, error) {
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	o, err := c.decide(limited, a, f.res)
	switch first := winner(err); {
	case first != nil:
		n.late = lang.Of(a.Language()).Say("The form in the client was answered too late: the question had ended before.")
		return ended(a, first, n), nil
	case errors.Is(err, ask.ErrInvalid):
		return c.formRound(a, faultWords(a, err)), nil
	case err != nil:
		c.s.opts.Logger.WarnContext(ctx, "the form's answer was not taken; the ask stays open elsewhere", slog.String("ask_id", a.ID), slog.Any("error", err))
		n.warnings = append(n.warnings, lang.Of(a.Language()).Say("what was answered in the form could not be taken (%s); the question stays open elsewhere", err.Error()))
	case o != nil:
		return ended(a, o, n), nil
	}
	return c.wait(ctx, session, a, limit, n)
}
