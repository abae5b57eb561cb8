package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// TestTwoThousandAsksThroughEachEndpoint and its subtests are not parallel: they count goroutines of
// the process.
func TestTwoThousandAsksThroughEachEndpoint(t *testing.T) {
	d := openOn(t, natstest.Start(t, natstest.Options{Memory: true}), gateway.Options{MaxPerToken: 1000, PerMinute: 1 << 20})
	d.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(d.http.CloseIdleConnections)
	d.bus.AnswerAll("web")
	agent := d.agent("s*")
	posts := func(status int, says, path string, body func(i int) string, headers ...string) func(i int) error {
		return func(i int) error {
			res, err := d.try(agent, http.MethodPost, path+fmt.Sprint("&session=s", i%50), body(i), headers...)
			if err == nil && (res.status != status || !strings.Contains(res.body, says)) {
				err = overloaded(res.status, res.header, fmt.Errorf("status %d: %s", res.status, res.body))
			}
			return err
		}
	}
	question := func(i int) string {
		return fmt.Sprintf(`{"id":"a%d","questions":[{"id":"db","text":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`, i)
	}
	for _, endpoint := range []struct {
		name string
		use  func(i int) error
	}{
		{"asks", posts(200, `"answered"`, "/v1/asks?wait=30s", question)},
		{"asks, without waiting", posts(201, "", "/v1/asks?wait=0", func(i int) string { return question(i + 10*natstest.Uses) })},
		{"events", posts(200, `"answered"`, "/v1/events?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"specversion":"1.0","id":"e%d","source":"/agents/acme/s%d","type":"dev.askbus.ask.requested.v1","subject":"e%d","datacontenttype":"application/json","data":{"id":"e%d","questions":[{"text":"Which?"}]}}`, i, i%50, i, i)
		}, "Content-Type", "application/cloudevents+json")},
		{"interact", posts(200, "A", "/api/interact/ask?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s%d","question":"Which %d?","options":[{"label":"A"},{"label":"B"}]}`, i%50, i)
		})},
		{"a2a", posts(200, "TASK_STATE_COMPLETED", "/a2a?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m%d","contextId":"s%d","role":"ROLE_USER","parts":[{"data":{"questions":[{"text":"Which %d?","options":[{"label":"A"},{"label":"B"}]}]}}]}}}`, i, i%50, i)
		})},
		{"a2a, streaming", posts(200, "TASK_STATE_COMPLETED", "/a2a?wait=0", func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"n%d","contextId":"s%d","role":"ROLE_USER","parts":[{"data":{"questions":[{"text":"Which %d?","options":[{"label":"A"},{"label":"B"}]}]}}]}}}`, i, i%50, i)
		})},
		{"permission", posts(200, "allow", "/v1/permission?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"tool_name":"AskUserQuestion","tool_use_id":"t%d","input":{"questions":[{"question":"Which %d?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}}`, i, i)
		})},
		{"websocket", func(i int) error { // a connection of its own for each ask
			conn, res, err := d.connect(agent, fmt.Sprint("?session=s", i%50))
			if err != nil && res != nil {
				return overloaded(res.StatusCode, res.Header, err)
			}
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			w := &wireClient{t, conn}
			w.send(fmt.Sprintf(`{"type":"ask:question:request","data":{"id":"w%d","agentId":"builder","questions":[{"question":"Which %d?","options":[{"label":"A"},{"label":"B"}]}]}}`, i, i))
			for _, want := range []string{"ask:question:pending", "ask:question:response"} {
				switch f := w.read(); {
				case f.Type == "error" && f.Data.Code == ask.CodeUnavailable:
					return &natstest.UnavailableError{After: time.Second, Err: errors.New(f.Data.Detail)}
				case f.Type != want:
					return fmt.Errorf("want %s, got %+v", want, f)
				}
			}
			return nil
		}},
	} {
		t.Run(endpoint.name, func(t *testing.T) { d.bus.LeavesNothing(t, endpoint.use) })
	}
}

// overloaded returns err, as a [*natstest.UnavailableError] if the response says when to try again.
func overloaded(status int, h http.Header, err error) error {
	seconds, wrong := strconv.Atoi(h.Get("Retry-After"))
	if status != http.StatusServiceUnavailable || wrong != nil {
		return err
	}
	return &natstest.UnavailableError{After: time.Duration(seconds) * time.Second, Err: err}
}
