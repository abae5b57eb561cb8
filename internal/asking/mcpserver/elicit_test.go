package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// revisions are those with forms; the last one has no requests from server to client.
var revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// forms makes a fixture whose client answers forms with handle.
func forms(t *testing.T, revision string, handle func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)) (*fixture, *mcp.ClientSession) {
	t.Helper()
	f := newFixture(t, mcpserver.Options{Decider: natstest.Dialog{}})
	return f, f.connectAs(revision, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return handle(ctx, req.Params)
	}})
}

func accept(content map[string]any) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

func TestAFormInTheClientAnswers(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f, cs := forms(t, revision, func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if p.Mode != "form" && p.Mode != "" || !strings.Contains(p.Message, "Which database?") {
					t.Errorf("the form is %+v", p)
				}
				return accept(map[string]any{"q1": "o2"})
			})
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if !strings.HasPrefix(r.text, "answered by Ben in the agent's own dialog\n") || !strings.Contains(r.text, "SQLite") {
				t.Errorf("the result is %+v", r)
			}
			ended := f.screen.Next(board.Resolved)
			if o := ended.Outcome; o == nil || o.By.Proof != ask.ProofHostDialog {
				t.Errorf("the outcome is %+v", o)
			}
			if before := revision < "2026-07-28"; ended.Ask.WhileWaiting != before { // later no process waits behind a form
				t.Errorf("while_waiting is %v", ended.Ask.WhileWaiting)
			}
		})
	}
}

func TestAFormThatIsSlowerIsClosed(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions[:2] {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			shown, closed := make(chan struct{}), make(chan struct{})
			f, cs := forms(t, revision, func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				close(shown)
				<-ctx.Done()
				close(closed)
				return nil, ctx.Err()
			})
			var person sync.WaitGroup
			person.Go(func() {
				<-shown
				f.answer()
			})
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if !strings.HasPrefix(r.text, "answered by Mei on the web\n") {
				t.Errorf("the result is %+v", r)
			}
			<-closed
			person.Wait()
		})
	}
}

func TestALateFormIsToldWhoWasFirst(t *testing.T) {
	t.Parallel()
	var f *fixture
	f, cs := forms(t, "2026-07-28", func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		f.answer()
		return accept(map[string]any{"q1": "o2"})
	})
	r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
	if !strings.HasPrefix(r.text, "answered by Mei on the web\n") || !strings.Contains(r.text, "PostgreSQL") || !strings.Contains(r.text, "too late") {
		t.Errorf("the result is %+v", r)
	}
}

func TestAFormThatFailsLosesNothing(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions[:2] {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f, cs := forms(t, revision, func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return nil, errors.New("no forms here")
			})
			f.soon()
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if !strings.HasPrefix(r.text, "answered by Mei on the web\n") {
				t.Errorf("the result is %+v", r)
			}
		})
	}
}

func TestAFormIsDeclinedOrClosed(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			action := "decline"
			f, cs := forms(t, revision, func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: action}, nil
			})
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if !strings.HasPrefix(r.text, "declined: ") || r.object["status"] != "cancelled" {
				t.Errorf("declined: %+v", r)
			}
			action = "cancel"
			f.screen.Next(board.Pending)
			f.soon()
			r = f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later, "ask_id": "again"}))
			if !strings.HasPrefix(r.text, "answered by Mei on the web\n") {
				t.Errorf("closed: %+v", r)
			}
		})
	}
}

func TestAFormIsShownAgainWhileItDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			tries := 0
			f, cs := forms(t, revision, func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if tries++; tries == 1 {
					return accept(map[string]any{})
				}
				if !strings.HasPrefix(p.Message, "That does not fit: Which database? This one needs an answer.\n\n") {
					t.Errorf("the message is %q", p.Message)
				}
				return accept(map[string]any{"q1": "o1"})
			})
			r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": later}))
			if tries != 2 || !strings.HasPrefix(r.text, "answered by Ben in the agent's own dialog\n") {
				t.Errorf("after %d tries: %+v", tries, r)
			}
		})
	}
}
