package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// list serves ListPendingQuestions.
func (c *call) list(ctx context.Context) (*mcp.CallToolResult, error) {
	in, session, err := c.begin(ctx)
	if err != nil {
		return failed(err), nil
	}
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	if in.Limit <= 0 {
		in.Limit = 20
	}
	page, err := session.Page(limited, client.Query{State: ask.StatePending, PageSize: min(in.Limit, 100)})
	if err != nil {
		return failed(err), nil
	}
	type item struct {
		AskID    string    `json:"ask_id"`
		Question string    `json:"question"`
		AskedAt  time.Time `json:"asked_at"`
		Deadline time.Time `json:"deadline"`
		Agent    string    `json:"agent,omitempty"`
		Progress string    `json:"progress,omitempty"` // of one that several people decide
		Shown    []string  `json:"shown,omitempty"`    // where it is shown, as surfaces report
	}
	items := []item{}
	lines := []string{fmt.Sprintf("%d open:", len(page.Items))}
	for _, rec := range page.Items {
		it := item{AskID: rec.Ask.ID, Question: rec.Ask.Heading(), AskedAt: rec.AskedAt.UTC(), Deadline: rec.Ask.Deadline.UTC(), Agent: rec.Ask.Agent.Name, Progress: rec.Waits("", time.Now())}
		for _, r := range rec.Receipts {
			if r.State == ask.ReceiptPosted {
				it.Shown = append(it.Shown, strings.TrimSpace(r.Type+" "+r.Words()))
			}
		}
		items = append(items, it)
		said := fmt.Sprintf("- %s: %q, asked at %s", it.AskID, it.Question, it.AskedAt.Format(time.RFC3339))
		if it.Progress != "" {
			said += ": " + it.Progress
		}
		lines = append(lines, said)
	}
	more := map[string]any{"questions": items}
	switch {
	case len(items) == 0:
		lines[0] = "No question of this session is open."
	case page.Next != "":
		lines = append(lines, "There are more.")
		more["more"] = true
	}
	return result(lang.Of(lang.English), lines, nil, more, notes{}, false), nil
}
