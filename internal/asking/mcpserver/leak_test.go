package mcpserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTwoThousandAsksOverMCPLeaveNothing and its subtests are not parallel: they count goroutines
// of the process.
func TestTwoThousandAsksOverMCPLeaveNothing(t *testing.T) {
	f := newFixtureOn(t, natstest.Start(t, natstest.Options{Memory: true}), mcpserver.Options{})
	go func() { // drain the screen's events
		for range f.screen.Events {
		}
	}()
	f.bus.AnswerAll("tui")
	use := func(cs *mcp.ClientSession, endpoint string, i int) error {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: dialect.ToolName, Arguments: map[string]any{"questions": []any{map[string]any{
			"question": fmt.Sprint("Which database, ", endpoint, " ", i, "?"), "header": "Storage", "multiSelect": false,
			"options": []any{map[string]any{"label": "PostgreSQL", "description": ""}, map[string]any{"label": "SQLite", "description": ""}},
		}}}})
		if err != nil || !res.IsError {
			return err
		}
		r := read(t, res)
		err = errors.New(r.text)
		if r.object["code"] == ask.CodeUnavailable {
			return &natstest.UnavailableError{After: time.Second, Err: err}
		}
		return err
	}
	stdio := f.connect(nil)
	t.Run("stdio", func(t *testing.T) { f.bus.LeavesNothing(t, func(i int) error { return use(stdio, "stdio", i) }) })
	url, _ := f.serve()
	t.Run("HTTP", func(t *testing.T) {
		transport := &http.Transport{MaxIdleConnsPerHost: 4}
		t.Cleanup(transport.CloseIdleConnections)
		f.bus.LeavesNothing(t, func(i int) error { // a connection per ask
			c := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, nil)
			cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: url + mcpserver.Path, HTTPClient: &http.Client{Transport: authorized{transport}}, DisableStandaloneSSE: true,
			}, nil)
			if err != nil {
				return err
			}
			return errors.Join(use(cs, "HTTP", i), cs.Close())
		})
	})
}
