package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
)

// A line that is no message gets an error, and the next one is served.
func TestALineThatIsNoMessageEndsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- f.server.Run(t.Context(), f.who, in, out)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 4<<20)
	exchange := func(line string) (m struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		Result json.RawMessage `json:"result"`
	},
	) {
		t.Helper()
		go func() { _, _ = io.WriteString(write, line+"\n") }()
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil {
			t.Fatalf("%.60q got %q, %v", line, lines.Text(), lines.Err())
		}
		return m
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	if m := exchange(hello); m.Result == nil {
		t.Fatalf("%+v", m)
	}
	_, _ = io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	ping := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(ping(7)+",", n), ",") + "]" }
	for i, v := range []struct {
		line, says string
		code       int
	}{
		{"this is not JSON", "not valid JSON", -32700},
		{`{"jsonrpc":"2.0","id":2,`, "not valid JSON", -32700},
		{ping(3) + " x", "not valid JSON", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xca\xfd\"}", "byte 34 of the body (0xCA) is not UTF-8", -32700},
		{`{"jsonrpc":"2.0","id":2,"method":"\ud800"}`, `byte 34 of the body`, -32700},
		{`7`, "not a message", -32600},
		{`{"id":2}`, "not a message", -32600},
		{`{"jsonrpc":"1.0","id":2,"method":"ping"}`, "not a message", -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "the id", -32600},
		{`[]`, "the batch has 0 messages", -32600},
		{many(51), "the batch has 51 messages; send 1 to 50", -32600},
		{`"` + strings.Repeat("x", 55<<20) + `"`, "more than 56972640 bytes", -32600},
	} {
		if m := exchange(v.line); string(m.ID) != "null" && m.ID != nil || m.Error.Code != v.code || !strings.Contains(m.Error.Message, v.says) {
			t.Errorf("%.60q: %+v, want %d %q", v.line, m, v.code, v.says)
		}
		if m := exchange(ping(100 + i)); string(m.ID) != fmt.Sprint(100+i) || m.Result == nil {
			t.Fatalf("after %.60q: %+v", v.line, m)
		}
	}
	// Three screenshots in base64 are such a line.
	if m := exchange(`{"jsonrpc":"2.0","id":200,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("A", 20<<20) + `"}}}`); string(m.ID) != "200" || m.Result == nil {
		t.Errorf("20 MB in one message: %+v", m)
	}
	_ = write.Close()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
