package mcpserver

import (
	"context"
	"embed"
	"encoding/json"

	"github.com/askbus/askbus/pkg/dialect"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The names of the tools.
const (
	toolAsk      = dialect.ToolName
	toolAwait    = "AwaitAnswer"
	toolWithdraw = "WithdrawQuestion"
	toolList     = "ListPendingQuestions"

	toolPermission = "PermissionPrompt" // with [Caller.Permissions] only
)

//go:embed schema/*.json
var schemas embed.FS

const instructions = `AskUserQuestion puts a question in front of people wherever they are (web inbox, chat, terminal) and waits for the answer. Questions are durable: when a call ends with status "pending", or is cut off, the question stays open; wait on with AwaitAnswer, or ask the same again to attach to it. Never take silence, an expiry or a pending result for a decision.`

const aboutAsk = `Asks a human and waits for the answer. People see the question on every screen they have connected; the first answer counts.

Ask when:
- you need a preference, a requirement or a fact that only they know;
- instructions can be read in more than one way, and the readings lead to different work;
- you are about to build on an assumption that would be expensive to get wrong;
- there are several sound ways to implement something, or several directions to go on in;
- you work in a planning mode and something is still open: ask before the plan is final.

Do not ask:
- for a plain yes or no to something that you can decide or look up yourself;
- whether "the plan" is ready or good: nobody can see it yet, and your host has its own tool for approving it (such as ExitPlanMode). Do not speak of "the plan" in a question.
- for passwords, keys or other secrets.

How:
- Ask what belongs together in one call, 1 to 4 questions. Each must make sense to someone who has not followed your work.
- Give 2 to 4 options that really differ. Put the one you recommend first and end its label in "(Recommended)". There is always room to type another answer, so add no "Other".
- When the answer is a number, a date, a text or a plain yes or no, say so with type instead of making up options, and give limits and a default where they help.
- Put what this is about into title, and what you are doing and why you ask into context.
- Set multiSelect when choices do not exclude each other.
- Show a screenshot or a file with files, if people need it to decide.
- Use preview for what must be compared by eye (layouts, code, diagrams, configuration), on single-choice questions only; where label and description suffice, leave it out.

The result says who answered and where. "pending" means that nobody has answered yet: call AwaitAnswer with the ask_id, or ask the same again, which attaches to the open question. "expired" means that nobody decided. Answers marked as defaults are not a human's.`

const aboutAwait = `Waits on for the answer to a question that AskUserQuestion left pending, or reads the outcome of one that has ended, however long ago. Ends with "pending" again when nobody answers in wait_seconds.`

const aboutWithdraw = `Takes back a question that needs no answer any more, so that nobody spends time on it. If somebody was faster, the result is their answer.`

const aboutList = `Lists the questions of this session that still wait for an answer, with their ask_id: after a restart, or when you lost track.`

// tool is a tool and its handler.
type tool struct {
	*mcp.Tool
	serve func(*call, context.Context) (*mcp.CallToolResult, error)
}

func tools(permissions bool) []tool {
	yes, no := true, false
	readOnly := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &yes}
	}
	all := []tool{
		{&mcp.Tool{Meta: loaded(), Name: toolAsk, Description: aboutAsk, InputSchema: schema(toolAsk), Annotations: readOnly("Ask a human")}, (*call).ask},
		{&mcp.Tool{Meta: loaded(), Name: toolAwait, Description: aboutAwait, InputSchema: schema(toolAwait), Annotations: readOnly("Wait for a human's answer")}, (*call).await},
		{&mcp.Tool{Name: toolWithdraw, Description: aboutWithdraw, InputSchema: schema(toolWithdraw), Annotations: &mcp.ToolAnnotations{
			Title: "Withdraw a question", IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &yes,
		}}, (*call).withdraw},
		{&mcp.Tool{Name: toolList, Description: aboutList, InputSchema: schema(toolList), Annotations: readOnly("List open questions")}, (*call).list},
	}
	if permissions {
		all = append(all, tool{&mcp.Tool{Name: toolPermission, Description: aboutPermission, InputSchema: schema(toolPermission), Annotations: readOnly("Ask a human for permission")}, (*call).permission})
	}
	return all
}

// loaded is the metadata of a tool whose schema Claude Code shows its model at once. Of others the model knows only
// the name, until it searches for them.
func loaded() mcp.Meta { return mcp.Meta{"anthropic/alwaysLoad": true} }

// schema returns the input schema of a tool. It is hand-written: an inferred one allows null for
// arrays, which some clients then send as strings.
func schema(name string) json.RawMessage {
	data, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		panic("mcpserver: " + err.Error()) // cannot happen: embedded
	}
	return data
}
