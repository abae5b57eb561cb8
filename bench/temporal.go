package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
)

// temporal is a workflow that waits for a signal or its deadline, on one Temporal server; its code
// runs in this process.
type temporal struct {
	server *exec.Cmd
	ended  chan struct{} // closed when the server has
	client client.Client
	worker worker.Worker
	loops  sync.WaitGroup
}

// Names that the workflow, the responder and the asker share.
const (
	temporalNamespace = "bench"
	temporalQueue     = "asks"
	temporalSignal    = "answer"
)

func startTemporal(ctx context.Context, dir string) (system, error) {
	program, config, err := temporalServer(ctx)
	if err != nil {
		return nil, err
	}
	env := []string{"TEMPORAL_VERSION_CHECK_DISABLED=1", "BENCH_DATABASE=" + filepath.Join(dir, "temporal.db")}
	ports := map[string]string{}
	for _, service := range []string{"FRONTEND", "HISTORY", "MATCHING", "WORKER"} {
		for _, name := range []string{service + "_PORT", service + "_MEMBERSHIP_PORT"} {
			if ports[name], err = freePort(ctx); err != nil {
				return nil, err
			}
			env = append(env, "BENCH_"+name+"="+ports[name])
		}
	}
	said, err := os.Create(filepath.Join(dir, "temporal.log"))
	if err != nil {
		return nil, err
	}
	defer said.Close() //nolint:errcheck // the server has its own
	t := &temporal{ended: make(chan struct{})}
	t.server = exec.CommandContext(ctx, program, "--config-file", config, "--allow-no-auth", "start") //nolint:gosec // built above
	t.server.Env, t.server.Stdout, t.server.Stderr = append(os.Environ(), env...), said, said
	if err := t.server.Start(); err != nil {
		return nil, fmt.Errorf("temporal's server: %w", err)
	}
	go func() {
		_ = t.server.Wait()
		close(t.ended)
	}()
	if err := t.connect(ctx, "127.0.0.1:"+ports["FRONTEND_PORT"]); err != nil {
		t.Close()
		log, _ := os.ReadFile(said.Name())
		return nil, fmt.Errorf("temporal's server: %w: %s", err, bytes.TrimSpace(log[max(0, len(log)-1000):]))
	}
	return t, nil
}

// temporalServer builds the server that the module in the folder temporal pins, unless it is
// cached, and returns its configuration.
func temporalServer(ctx context.Context) (program, config string, err error) {
	for _, dir := range []string{"temporal", filepath.Join("bench", "temporal")} {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		fmt.Fprintln(os.Stderr, "bench: building Temporal's server; the first time takes minutes")
		var fault bytes.Buffer
		build := exec.CommandContext(ctx, "go", "-C", dir, "tool", "-n", "go.temporal.io/server/cmd/server") //nolint:gosec // one of two folders
		build.Stderr = &fault
		out, err := build.Output()
		if err != nil {
			return "", "", fmt.Errorf("building temporal's server: %w: %s", err, bytes.TrimSpace(fault.Bytes()))
		}
		return strings.TrimSpace(string(out)), filepath.Join(dir, "config.yaml"), nil
	}
	return "", "", fmt.Errorf("its module is %w: run this in the folder bench", errAway)
}

// connect waits for the server, and returns after a first complete cycle.
func (t *temporal) connect(ctx context.Context, address string) error {
	quiet := slog.New(slog.DiscardHandler)
	lazy, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: temporalNamespace, Logger: quiet})
	if err != nil {
		return err
	}
	t.client = lazy
	end := time.Now().Add(time.Minute)
	if err := t.until(end, func() error { return t.register(ctx) }); err != nil {
		return fmt.Errorf("register a namespace: %w", err)
	}
	t.worker = worker.New(t.client, temporalQueue, worker.Options{DisableRegistrationAliasing: true})
	t.worker.RegisterWorkflow(askWorkflow)
	t.worker.RegisterActivityWithOptions(t.show, activity.RegisterOptions{Name: "show"})
	if err := t.until(end, t.worker.Start); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	return t.until(end, func() error { // the server looks for new namespaces now and then
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return t.Cycle(once, 0)
	})
}

// until retries until success, the deadline, or the end of the server.
func (t *temporal) until(end time.Time, try func() error) error {
	for {
		err := try()
		if err == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-t.ended:
			return fmt.Errorf("the server has exited: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (t *temporal) register(ctx context.Context) error {
	once, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := t.client.WorkflowService().RegisterNamespace(once, &workflowservice.RegisterNamespaceRequest{
		Namespace: temporalNamespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	return err
}

// askWorkflow shows the ask, and waits for its answer until its deadline.
func askWorkflow(ctx workflow.Context, body json.RawMessage) (json.RawMessage, error) {
	shown := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	if err := workflow.ExecuteActivity(shown, "show", workflow.GetInfo(ctx).WorkflowExecution.ID, body).Get(ctx, nil); err != nil {
		return nil, err
	}
	var answer json.RawMessage
	got, _ := workflow.GetSignalChannel(ctx, temporalSignal).ReceiveWithTimeout(ctx, time.Hour, &answer)
	if !got {
		return json.RawMessage(`{"status":"expired"}`), nil
	}
	return answer, nil
}

// show passes an ask to the responder, which answers every ask.
func (t *temporal) show(ctx context.Context, id string, _ json.RawMessage) error {
	ctx = context.WithoutCancel(ctx)
	t.loops.Go(func() { _ = t.client.SignalWorkflow(ctx, id, "", temporalSignal, json.RawMessage(outcome)) }) // without it the cycle times out
	return nil
}

// Cycle implements bench.System.
func (t *temporal) Cycle(ctx context.Context, _ int) error {
	run, err := t.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: newID(), TaskQueue: temporalQueue}, askWorkflow, json.RawMessage(question))
	if err != nil {
		return err
	}
	var answer json.RawMessage
	return run.Get(ctx, &answer)
}

// Close stops the worker and kills the server; its data is not needed.
func (t *temporal) Close() {
	if t.worker != nil {
		t.worker.Stop()
	}
	t.loops.Wait()
	if t.client != nil {
		t.client.Close()
	}
	_ = t.server.Process.Kill()
	<-t.ended
}
