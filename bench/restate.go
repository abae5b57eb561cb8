package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// restate is a workflow that waits on a durable promise, on one Restate server;
// its code runs in Node.
type restate struct {
	server, service *exec.Cmd
	ingress         string
	http            *http.Client
	stop            context.CancelFunc
	loops           sync.WaitGroup
}

func startRestate(ctx context.Context, dir string) (system, error) {
	script, err := nodeScript("restate.mjs")
	if err != nil {
		return nil, err
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	program := filepath.Join(filepath.Dir(script), "node_modules", "@restatedev", "restate-server-"+runtime.GOOS+"-"+arch, "bin", "restate-server")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("restate-server is %w: %w", errAway, err)
	}
	ports := make([]string, 5)
	for i := range ports {
		if ports[i], err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	local := func(i int) string { return "127.0.0.1:" + ports[i] }
	r := &restate{ingress: "http://" + local(0), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}}}
	r.server = exec.CommandContext(ctx, program) //nolint:gosec // found above
	r.server.Env = append(os.Environ(), "RESTATE_BASE_DIR="+filepath.Join(dir, "restate"), "RESTATE_NODE_NAME=bench", "RESTATE_LISTEN_MODE=tcp",
		"RESTATE_INGRESS__BIND_ADDRESS="+local(0), "RESTATE_ADMIN__BIND_ADDRESS="+local(1), "RESTATE_BIND_ADDRESS="+local(2),
		"RESTATE_DISABLE_TELEMETRY=true", "RESTATE_LOG_FILTER=error")
	r.service = exec.CommandContext(ctx, "node", script, ports[3], ports[4]) //nolint:gosec // our own script
	for _, cmd := range []*exec.Cmd{r.server, r.service} {
		if err := cmd.Start(); err != nil {
			r.Close()
			return nil, err
		}
	}
	if err := r.register(ctx, "http://"+local(1), "http://"+local(3)); err != nil {
		r.Close()
		return nil, err
	}
	if err := r.watch(ctx, "ws://"+local(4)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// register gives the server the address of the workflow's code, once both are up.
func (r *restate) register(ctx context.Context, admin, service string) error {
	body, err := json.Marshal(map[string]string{"uri": service})
	if err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; {
		err := post(ctx, r.http, admin+"/deployments", string(body))
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("register: %w", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// watch is the responder: it answers every ask.
func (r *restate) watch(ctx context.Context, feed string) error {
	conn, _, err := websocket.Dial(ctx, feed, nil) //nolint:bodyclose // of an upgrade
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.loops.Go(func() {
		readIDs(running, conn, func(id string) {
			r.loops.Go(func() { _ = post(running, r.http, r.ingress+"/ask/"+id+"/answer", outcome) }) // without it the cycle times out
		})
	})
	return nil
}

// Cycle implements bench.System.
func (r *restate) Cycle(ctx context.Context, _ int) error {
	return post(ctx, r.http, r.ingress+"/ask/"+newID()+"/run", question)
}

// Close stops both processes.
func (r *restate) Close() {
	if r.stop != nil {
		r.stop()
	}
	for _, cmd := range []*exec.Cmd{r.service, r.server} {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	r.loops.Wait()
}
