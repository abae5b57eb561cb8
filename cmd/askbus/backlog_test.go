package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

func TestAScalerReadsTheBacklogOfAType(t *testing.T) {
	t.Parallel()
	pl, _ := up(t, "--responder-types", "chat")
	ctx, err := cli.ReadContext(pl.dir)
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, map[string]any) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ctx.Ops["up"]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var figures map[string]any
		_ = json.Unmarshal(body, &figures)
		return resp.StatusCode, figures
	}
	pl.must(3, "ask", "--question", "Ship it?", "--option", "Yes", "--option", "No", "--id", "a1", "--session", "s", "--wait", "0")
	// The consumers are created in the background, and the figures may be a second old.
	natstest.Eventually(t, "a backlog of 1", func() bool {
		_, figures := get("/backlog/chat")
		return figures["backlog"] == 1.0
	})
	if code, figures := get("/backlog/chat"); code != http.StatusOK || figures["backlog"] != 1.0 || figures["questions"] != 1.0 || figures["outcomes"] != 0.0 {
		t.Errorf("chat: %d %v", code, figures)
	}
	if code, figures := get("/backlog/nobody"); code != http.StatusOK || figures["backlog"] != 0.0 {
		t.Errorf("an unserved type: %d %v", code, figures)
	}
	if code, figures := get("/backlog"); code != http.StatusOK || len(figures["types"].(map[string]any)) != 1 {
		t.Errorf("all types: %d %v", code, figures)
	}
	if code, _ := get("/backlog/a.b"); code != http.StatusBadRequest {
		t.Errorf("an invalid type: %d", code)
	}
}
