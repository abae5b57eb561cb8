package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notes are additions to a result.
type notes struct {
	warnings []string
	present  []string // responder types with a person present
	link     string   // URL at which a person answers
	again    bool     // the outcome is older than this call
	files    []string // of the answer
	late     string   // why a form's answer did not count
	// votes says how far the votes on an ask that several people decide have come; nil: it has none.
	votes func(context.Context) string
}

// ended returns the result of a call whose ask has ended.
func ended(a *ask.Ask, o *ask.Outcome, n notes) *mcp.CallToolResult {
	l := lang.Of(a.Language())
	lines := []string{dialect.Report(a, o)}
	lines = append(lines, n.files...)
	if n.late != "" {
		lines = append(lines, n.late)
	}
	if n.again {
		lines = append(lines, l.Say("This was decided at %s, when the same was asked before. To ask it once more, call again with a new ask_id.", o.At.UTC().Format(time.RFC3339)))
	}
	more := map[string]any{"ask_id": a.ID, "status": o.Status, "at": o.At.UTC().Format(time.RFC3339)}
	if n.link != "" {
		lines = append(lines, l.Say("The question and its outcome are at %s", n.link))
		more["link"] = n.link
	}
	if o.By != nil {
		more["by"] = map[string]string{"principal": o.By.Principal, "name": o.By.Name, "responder": o.By.Responder}
	}
	if o.Source != "" {
		more["source"] = o.Source
	}
	object := shapeFor(a).Answer(a, o).Body
	return inShape(a, object, result(l, lines, object, more, n, o.Status == ask.StatusWithdrawn || o.Status == ask.StatusAborted))
}

// inShape puts the object of an agent that reads JSON before the words of a result.
func inShape(a *ask.Ask, object []byte, r *mcp.CallToolResult) *mcp.CallToolResult {
	if shapeFor(a).Name == idShape {
		r.Content = append([]mcp.Content{&mcp.TextContent{Text: string(object)}}, r.Content...)
	}
	return r
}

// pending returns the result of a call whose ask is still open.
func pending(ctx context.Context, a *ask.Ask, n notes) *mcp.CallToolResult {
	l := lang.Of(a.Language())
	votes := ""
	if n.votes != nil {
		votes = n.votes(ctx)
	}
	hint := l.Say("nobody has answered yet. The question stays open; call %s with ask_id %s to wait on, now or after other work, or ask the same again. Do not take this for an answer", toolAwait, strconv.Quote(a.ID))
	if votes != "" {
		hint = l.Say("the votes have not decided yet: %[1]s. The question stays open; call %[2]s with ask_id %[3]s to wait on. Do not take this for an answer", votes, toolAwait, strconv.Quote(a.ID))
	}
	lines := []string{"pending: " + hint + " (ask_id " + a.ID + ")"}
	if len(n.present) > 0 {
		lines = append(lines, l.Say("People who can answer are at: %s.", strings.Join(n.present, ", ")))
	}
	if n.link != "" {
		lines = append(lines, l.Say("A person can answer at %s", n.link))
	}
	more := map[string]any{}
	if votes != "" {
		more["progress"] = votes
	}
	if n.link != "" {
		more["link"] = n.link
	}
	object := shapeFor(a).Pending(a, dialect.Pending{Hint: hint}).Body
	return inShape(a, object, result(l, lines, object, more, n, false))
}

// result returns a tool result as text and as an equivalent object.
func result(l *lang.Language, lines []string, object []byte, more map[string]any, n notes, isError bool) *mcp.CallToolResult {
	if len(n.warnings) > 0 {
		lines = append(lines, l.Say("Warnings about the question:"))
		for _, w := range n.warnings {
			lines = append(lines, "- "+w)
		}
		more["warnings"] = n.warnings
	}
	text := strings.Join(lines, "\n")
	structured := maps.Clone(more)
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err == nil {
		for k, v := range fields { // the words of the agent's shape, such as its status
			structured[k] = v
		}
	}
	structured["text"] = text // some clients show a model only one of the two
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured, IsError: isError}
}

func failed(err error) *mcp.CallToolResult {
	structured := map[string]any{"status": "error"}
	text := err.Error()
	switch {
	case errors.Is(err, ask.ErrUnavailable):
		structured["code"] = ask.CodeUnavailable
		text = "askbus cannot be reached: " + text + ". Nobody was asked as far as is known, and nothing was decided; asking the same again is safe"
	case errors.Is(err, ask.ErrIDReused):
		text += " (leave ask_id out, or give another)"
	case errors.Is(err, ask.ErrNotFound):
		text += " (" + toolList + " says what is open)"
	}
	if refused, ok := errors.AsType[*ask.Error](err); ok {
		structured["code"] = refused.Code
	}
	structured["text"] = text
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured, IsError: true}
}
