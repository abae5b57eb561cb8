package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// formKey names our one input request.
const formKey = "answer"

// returnedForm is a form that a client returns with another call.
type returnedForm struct {
	res   *mcp.ElicitResult
	state string
}

// formRound asks the client to show the form and to call again. Meanwhile the ask is open on all
// other screens.
func (c *call) formRound(a *ask.Ask, fault string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{formKey: elicitation(a, fault)},
		RequestState:  a.ID,
	}
}

// returned returns the form of this call, if any.
func (c *call) returned() (returnedForm, bool) {
	res, ok := c.req.Params.InputResponses[formKey].(*mcp.ElicitResult)
	if !ok || !c.rounds() {
		return returnedForm{}, false
	}
	return returnedForm{res, c.req.Params.RequestState}, true
}

// askID returns the id of the ask of the form. The state comes from the client, so it must name an
// ask of exactly this content; the session is the caller's own.
func (f returnedForm) askID(a *ask.Ask, from sameask.Origin) string {
	if a.ID == "" && from.Is(a, f.state) {
		return f.state
	}
	return a.ID
}

// submit sends the form's answer. The result is the first outcome, and says whether the form came
// too late; a closed form leaves the ask open and the call waiting.
func (c *call) submit(ctx context.Context, session client.Session, a *ask.Ask, asked client.Asked, f returnedForm, limit time.Duration, n notes) (*mcp.CallToolResult, error) {
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	o, err := c.decide(limited, a, f.res)
	switch first := winner(err); {
	case first != nil:
		n.late = lang.Of(a.Language()).Say("The form in the client was answered too late: the question had ended before.")
		c.delivered(ctx, session, a.ID)
		return c.ended(ctx, session, a, first, n), nil
	case errors.Is(err, ask.ErrInvalid):
		return c.formRound(a, faultWords(a, err)), nil
	case err != nil:
		c.s.opts.Logger.WarnContext(ctx, "the form's answer was refused; the ask stays open elsewhere", slog.String("ask_id", a.ID), slog.Any("error", err))
		n.warnings = append(n.warnings, lang.Of(a.Language()).Say("the answer in the form was not accepted (%s); the question stays open elsewhere", err.Error()))
	case o != nil:
		c.delivered(ctx, session, a.ID)
		return c.ended(ctx, session, a, o, n), nil
	}
	return c.wait(ctx, session, a, asked, limit, n)
}
