package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/gateway"
	"github.com/askbus/askbus/internal/natstest"
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
				err = fmt.Errorf("status %d: %s", res.status, res.body)
			}
			return err
		}
	}
	ask := func(i int) string {
		return fmt.Sprintf(`{"id":"a%d","questions":[{"id":"db","text":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`, i)
	}
	for _, endpoint := range []struct {
		name string
		use  func(i int) error
	}{
		{"asks", posts(200, `"answered"`, "/v1/asks?wait=30s", ask)},
		{"asks, without waiting", posts(201, "", "/v1/asks?wait=0", func(i int) string { return ask(i + 10*natstest.Uses) })},
		{"events", posts(200, `"answered"`, "/v1/events?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"specversion":"1.0","id":"e%d","source":"/agents/acme/s%d","type":"dev.askbus.ask.requested.v1","subject":"e%d","datacontenttype":"application/json","data":{"id":"e%d","questions":[{"text":"Which?"}]}}`, i, i%50, i, i)
		}, "Content-Type", "application/cloudevents+json")},
		{"interact", posts(200, "A", "/api/interact/ask?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s%d","question":"Which %d?","options":[{"label":"A"},{"label":"B"}]}`, i%50, i)
		})},
		{"a2a", posts(200, "TASK_STATE_COMPLETED", "/a2a?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m%d","contextId":"s%d","role":"ROLE_USER","parts":[{"data":{"questions":[{"text":"Which %d?","options":[{"label":"A"},{"label":"B"}]}]}}]}}}`, i, i%50, i)
		})},
		{"permission", posts(200, "allow", "/v1/permission?wait=30s", func(i int) string {
			return fmt.Sprintf(`{"tool_name":"AskUserQuestion","tool_use_id":"t%d","input":{"questions":[{"question":"Which %d?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}}`, i, i)
		})},
		{"websocket", func(i int) error { // a connection of its own for each ask
			conn, _, err := d.connect(agent, fmt.Sprint("?session=s", i%50))
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			w := &wireClient{t, conn}
			w.send(fmt.Sprintf(`{"type":"ask:question:request","data":{"id":"w%d","agentId":"builder","questions":[{"question":"Which %d?","options":[{"label":"A"},{"label":"B"}]}]}}`, i, i))
			w.next("ask:question:pending")
			w.next("ask:question:response")
			return nil
		}},
	} {
		t.Run(endpoint.name, func(t *testing.T) { d.bus.LeavesNothing(t, endpoint.use) })
	}
}
