package role

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// While a chat that runs is connected anew, only what may say the code goes to who waits for it: clicks, answers in words
// and what is too large to be a code go on to the chat.
func TestAChatRunsOnWhileItIsConnectedAnew(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), teamsEntry()
	socket := c.callsSocket(dir)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	says := func(who string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, who+" "+string(body))
		})
	}
	running := &switched{}
	chat := says("chat")
	running.to.Store(&chat)
	h := c.passing(dir, running)
	const code = `{"type":"message","text":"abcd-2345","conversation":{"conversationType":"personal"}}`
	call := func(h http.Handler, path, body string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		return w.Body.String()
	}
	const path = "/teams/messages"
	if got := call(h, path, code); got != "chat "+code {
		t.Errorf("while nothing is connected: %.80s", got)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: says("connect")}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	for _, one := range []struct{ path, body, want string }{
		{path, code, "connect"},
		{"/teams/connecting/x", "", "connect"},
		{path, strings.Replace(code, "personal", "groupChat", 1), "chat"},
		{path, strings.Replace(code, "abcd-2345", "SQLite", 1), "chat"},
		{path, strings.Replace(code, `"type"`, `"value":{"do":"choose"},"type"`, 1), "chat"},
		{path, strings.Replace(code, "message", "invoke", 1), "chat"},
		{path, code + strings.Repeat(" ", maxCode), "chat"},
		{path, "no activity", "chat"},
	} {
		if got := call(h, one.path, one.body); got != one.want+" "+one.body {
			t.Errorf("%s %.100s goes to %.120s; want %s", one.path, one.body, got, one.want)
		}
	}
	if got := call(c.passing(dir, &switched{}), path, "no activity"); got != "connect no activity" {
		t.Errorf("while no chat runs: %s", got)
	}
}

// The call that pairs is answered although the command goes on meanwhile, so that the platform does not repeat it.
func TestTheCallThatPairsIsAnswered(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in := &connecting{path: "/x"}
	in.serve(t.Context(), ln)
	paired, closed := make(chan struct{}), make(chan struct{})
	var app http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(paired)
		for {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				return // it takes no more calls: the command goes on
			}
			_ = conn.Close()
		}
	})
	in.app.to.Store(&app)
	go func() {
		<-paired
		in.close()
		close(closed)
	}()
	res, err := http.Post("http://"+ln.Addr().String()+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	<-closed
}

// Two commands that connect the same chat do not take the calls from each other; what a killed one left is no hindrance.
func TestOneCommandConnectsAChatAtATime(t *testing.T) {
	t.Parallel()
	name := teamsEntry().callsSocket(t.TempDir())
	first, err := listenUnix(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(t.Context(), name); !errors.Is(err, errConnects) {
		t.Errorf("a second one: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false) // as if it were killed
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := listenUnix(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}
