package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// node is a map in a Node process: asks and answers over HTTP, events over a WebSocket, nothing on
// disk.
type node struct {
	cmd   *exec.Cmd
	url   string
	http  *http.Client
	stop  context.CancelFunc
	loops sync.WaitGroup
	mu    sync.Mutex
	waits map[string]chan struct{}
}

func startNode(ctx context.Context, _ string) (system, error) {
	script, err := nodeScript("map.mjs")
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	n := &node{url: "http://127.0.0.1:" + port, waits: map[string]chan struct{}{}}
	n.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}}
	n.cmd = exec.CommandContext(ctx, "node", script, port) //nolint:gosec // our own script
	n.cmd.Stderr = os.Stderr
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("node is %w: %w", errAway, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	for _, feed := range []struct {
		name string
		told func(id string)
	}{
		{"asked", func(id string) { n.loops.Go(func() { _ = post(running, n.http, n.url+"/answer/"+id, outcome) }) }},
		{"answered", n.answered},
	} {
		if err := n.listen(running, feed.name, feed.told); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// nodeScript returns the path of a script, and checks that its packages are installed.
func nodeScript(name string) (string, error) {
	for _, dir := range []string{"node", filepath.Join("bench", "node")} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
			return "", fmt.Errorf("its packages are %w: run npm ci in bench/node", errAway)
		}
		return filepath.Join(dir, name), nil
	}
	return "", fmt.Errorf("its script is %w: run this in the folder bench", errAway)
}

// listen calls told with the ids that arrive over a WebSocket.
func (n *node) listen(ctx context.Context, feed string, told func(id string)) error {
	var conn *websocket.Conn
	for end := time.Now().Add(20 * time.Second); ; {
		var err error
		if conn, _, err = websocket.Dial(ctx, strings.Replace(n.url, "http", "ws", 1)+"/"+feed, nil); err == nil { //nolint:bodyclose // of an upgrade
			break
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	n.loops.Go(func() { readIDs(ctx, conn, told) })
	return nil
}

// readIDs calls told with each id that arrives over a WebSocket, until ctx ends.
func readIDs(ctx context.Context, conn *websocket.Conn, told func(id string)) {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var m struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(data, &m) == nil {
			told(m.ID)
		}
	}
}

// post sends a body as JSON.
func post(ctx context.Context, c *http.Client, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode >= http.StatusBadRequest {
		err = errors.Join(err, fmt.Errorf("%s: %s: %s", url, resp.Status, strings.TrimSpace(string(answer))))
	}
	return err
}

func (n *node) answered(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ch := n.waits[id]; ch != nil {
		close(ch)
		delete(n.waits, id)
	}
}

// Cycle implements bench.System.
func (n *node) Cycle(ctx context.Context, _ int) error {
	id := newID()
	ch := make(chan struct{})
	n.mu.Lock()
	n.waits[id] = ch
	n.mu.Unlock()
	if err := post(ctx, n.http, n.url+"/ask/"+id, question); err != nil {
		return err
	}
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops the process.
func (n *node) Close() {
	n.stop()
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
	n.loops.Wait()
}
