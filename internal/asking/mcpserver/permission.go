package mcpserver

import (
	"context"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const aboutPermission = `For the host, not for the model: the tool that "claude -p --permission-prompt-tool" calls. Asks a person whether a tool call may run, and waits until somebody decides.`

// permission serves PermissionPrompt. Every failure refuses: its result is always a decision.
func (c *call) permission(ctx context.Context) (*mcp.CallToolResult, error) {
	prompt, err := hostcall.ReadPrompt(c.arguments(), lang.Of(c.who.Language))
	if err != nil {
		return decision(hostcall.Refuse(err.Error())), nil
	}
	a := &prompt.Ask
	from := sameask.Origin{Permission: a.Permits()}
	if !from.Permission {
		from.Call = sameask.TakeCall(a)
	}
	c.introduce(a)
	a.WhileWaiting = true
	session, err := c.s.open.Open(ctx, c.who.Tenant, c.who.Session)
	if err != nil {
		return decision(hostcall.Refuse(err.Error())), nil
	}
	if err := sameask.Upload(ctx, session, prompt.Files); err != nil {
		return decision(hostcall.Refuse(err.Error())), nil
	}
	from.Waits = true
	st, err := c.attach(ctx, session, a, from)
	if err != nil {
		return decision(hostcall.Refuse(err.Error())), nil
	}
	if st.Outcome != nil {
		c.delivered(ctx, session, a.ID)
		return decision(prompt.Decide(st.Outcome)), nil
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)() //nolint:contextcheck // the server may end before the call
	defer context.AfterFunc(c.over, cancel)() //nolint:contextcheck // so may the caller's right to call
	if c.s.opts.Waiting != nil {
		defer c.s.opts.Waiting(a)()
	}
	stop := c.progress(within, notes{present: st.Present})
	o, err := st.Wait(within)
	stop()
	if err != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
		defer cancel()
		_, _ = session.Withdraw(late, a.ID, "the agent no longer waits") // else its lease ends it
		return decision(hostcall.Refuse(err.Error())), nil
	}
	c.delivered(ctx, session, a.ID)
	return decision(prompt.Decide(&o)), nil
}

// decision returns the result of the tool: its text is the host's JSON.
func decision(body []byte) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}}
}
