package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
)

// tab is a page in its own Chromium, controlled over a pipe: chromedp is only for tests, and this
// needs five calls of the protocol.
type tab struct {
	cmd   *exec.Cmd
	dir   string
	in    io.WriteCloser
	shown chan string // ids of asks, in the frame after they are in the page

	session string       // of the page, in the browser's protocol
	bytes   atomic.Int64 // received, as they were sent

	mu      sync.Mutex
	next    int
	replies map[int]chan cdpMessage
}

type cdpMessage struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// watchPage reports every id that appears in the page.
const watchPage = `(() => {
	const told = new Set();
	const look = (text) => {
		for (const [id] of text.matchAll(/show-[A-Z2-7]{26}/g)) {
			if (told.has(id)) continue;
			told.add(id);
			requestAnimationFrame(() => askbusShown(id));
		}
	};
	// Only what is new is read: the page is measured, too.
	new MutationObserver((all) => { for (const m of all) for (const n of m.type === 'childList' ? m.addedNodes : [m.target]) look(n.textContent); }).observe(document, {childList: true, subtree: true, characterData: true});
})()`

// openTab starts the browser and opens a page.
func openTab(ctx context.Context, chrome, url string) (*tab, error) {
	dir, err := os.MkdirTemp("", "askbus-bench-chrome-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	t := &tab{dir: dir, shown: make(chan string, 1024), replies: map[int]chan cdpMessage{}}
	if err := t.start(ctx, chrome); err != nil {
		t.close()
		return nil, err
	}
	if err := t.open(ctx, url); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tab) start(ctx context.Context, chrome string) error {
	toRead, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, toWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	args := []string{"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + t.dir, "--no-first-run", "--disable-dev-shm-usage", "--disable-gpu", "about:blank"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	t.cmd, t.in = exec.CommandContext(ctx, chrome, args...), in //nolint:gosec // the user names the browser
	t.cmd.ExtraFiles = []*os.File{toRead, toWrite}
	if err := t.cmd.Start(); err != nil {
		return fmt.Errorf("bench: start %s: %w", chrome, err)
	}
	_, _ = toRead.Close(), toWrite.Close() // the browser's ends
	go t.read(out)
	return nil
}

// read reads messages, which end with a zero byte, until the browser exits.
func (t *tab) read(out io.Reader) {
	defer close(t.shown)
	for r := bufio.NewReader(out); ; {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m cdpMessage
		if json.Unmarshal(data[:len(data)-1], &m) != nil {
			continue
		}
		if m.Method == "Runtime.bindingCalled" {
			var call struct {
				Payload string `json:"payload"`
			}
			if json.Unmarshal(m.Params, &call) == nil {
				t.shown <- call.Payload
			}
		}
		if m.Method == "Network.dataReceived" {
			var got struct {
				Encoded int64 `json:"encodedDataLength"`
			}
			if json.Unmarshal(m.Params, &got) == nil {
				t.bytes.Add(got.Encoded)
			}
		}
		t.mu.Lock()
		reply := t.replies[m.ID]
		delete(t.replies, m.ID)
		t.mu.Unlock()
		if reply != nil {
			reply <- m
		}
	}
}

// call makes one call and returns its result.
func (t *tab) call(ctx context.Context, session, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	reply := make(chan cdpMessage, 1)
	t.mu.Lock()
	t.next++
	id := t.next
	t.replies[id] = reply
	t.mu.Unlock()
	data, err := json.Marshal(cdpMessage{ID: id, Method: method, SessionID: session, Params: raw})
	if err != nil {
		return nil, err
	}
	if _, err := t.in.Write(append(data, 0)); err != nil {
		return nil, fmt.Errorf("bench: browser: %w", err)
	}
	select {
	case m := <-reply:
		if m.Error != nil {
			return nil, fmt.Errorf("bench: browser: %s: %s", method, m.Error.Message)
		}
		return m.Result, nil
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("bench: browser: %s is not answered", method)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *tab) open(ctx context.Context, url string) error {
	made, err := t.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"})
	if err != nil {
		return err
	}
	var target struct {
		ID string `json:"targetId"`
	}
	if err := json.Unmarshal(made, &target); err != nil {
		return err
	}
	attached, err := t.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true})
	if err != nil {
		return err
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := json.Unmarshal(attached, &session); err != nil {
		return err
	}
	t.session = session.ID
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"Runtime.enable", map[string]any{}},
		{"Page.enable", map[string]any{}},
		{"Network.enable", map[string]any{}},
		{"Performance.enable", map[string]any{}},
		{"Runtime.addBinding", map[string]any{"name": "askbusShown"}},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": watchPage}},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": measureScript}},
		{"Page.navigate", map[string]any{"url": url}},
	} {
		if _, err := t.call(ctx, session.ID, c.method, c.params); err != nil {
			return err
		}
	}
	return backoff.Sleep(ctx, 2*time.Second) // until the page and its stream are ready
}

func (t *tab) close() {
	var err error
	if t.in != nil {
		err = t.in.Close()
	}
	if t.cmd != nil && t.cmd.Process != nil {
		err = errors.Join(err, t.cmd.Process.Kill(), t.cmd.Wait())
	}
	_ = errors.Join(err, os.RemoveAll(t.dir)) // the system's temporary directory
}
