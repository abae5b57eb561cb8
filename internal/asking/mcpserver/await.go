package mcpserver

import (
	"context"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// await serves AwaitAnswer.
func (c *call) await(ctx context.Context) (*mcp.CallToolResult, error) {
	in, session, err := c.begin(ctx)
	if err != nil {
		return failed(err), nil
	}
	rec, err := c.get(ctx, session, in.AskID)
	if err != nil {
		return failed(err), nil
	}
	n := notes{link: c.link(&rec.Ask)}
	if rec.Outcome != nil {
		c.delivered(ctx, session, rec.Ask.ID)
		return c.ended(ctx, session, &rec.Ask, rec.Outcome, n), nil
	}
	return c.wait(ctx, session, &rec.Ask, session.Asked(in.AskID), c.seconds(in.WaitSeconds), n)
}

// withdraw serves WithdrawQuestion. If the question was answered first, the agent gets that answer.
func (c *call) withdraw(ctx context.Context) (*mcp.CallToolResult, error) {
	in, session, err := c.begin(ctx)
	if err != nil {
		return failed(err), nil
	}
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	_, err = session.Withdraw(limited, in.AskID, in.Reason)
	if o := winner(err); o != nil {
		rec, err := c.get(ctx, session, in.AskID)
		if err != nil {
			return failed(err), nil
		}
		c.delivered(ctx, session, rec.Ask.ID)
		return c.ended(ctx, session, &rec.Ask, o, notes{late: lang.Of(rec.Ask.Language()).Say("It was too late to withdraw: the question had ended.")}), nil
	}
	if err != nil {
		return failed(err), nil
	}
	return result(lang.Of(lang.English), []string{"withdrawn: the question " + in.AskID + " is closed on every screen"}, nil,
		map[string]any{"ask_id": in.AskID, "status": ask.StatusWithdrawn}, notes{}, false), nil
}
