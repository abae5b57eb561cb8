package gateway_test

import (
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// waiting are the ways of asking over HTTP and waiting: path, body.
func waiting() map[string][2]string {
	ways := unnamed()
	ways["native"] = [2]string{"/v1/asks?session=s1&wait=5m", ways["native"][1]}
	ways["claude-code"] = [2]string{"/v1/asks?dialect=claude-code&session=s2&wait=5m", ways["claude-code"][1]}
	ways["permission"] = [2]string{"/v1/permission?session=s4", ways["permission"][1]}
	for _, goesOn := range []string{"acp", "ag-ui", "ai-sdk", "tool use"} {
		delete(ways, goesOn)
	}
	ways["named"] = [2]string{"/v1/asks?session=s8&wait=5m", `{"id":"n1","questions":[{"id":"q1","text":"Deploy?","options":[{"id":"o1","label":"Yes"},{"id":"o2","label":"No"}]}]}`}
	ways["event pair"] = [2]string{"/v1/events?session=s9&wait=5m", `{"specversion":"1.0","id":"e1","source":"/x","type":"ask:question:request","data":{"questions":[{"question":"Deploy?","options":[{"label":"Yes"},{"label":"No"}]}]}}`}
	ways["a2a"] = [2]string{"/a2a?session=s10&wait=5m", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":{"questions":[{"text":"Deploy?","options":[{"label":"Yes"},{"label":"No"}]}]}}]}}}`}
	return ways
}

// Asking and waiting over HTTP and a socket sends one request that asks, and
// none that waits.
func TestAWaitingRequestAsksTheBrokerOnce(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("*")
	sent, screen := d.bus.Requests(), d.bus.Screen()
	choose := func() {
		rec := screen.Next(board.Pending)
		screen.Choose(rec, rec.Ask.Questions[0].Options[0].ID)
	}
	asked := 0
	for name, way := range waiting() {
		headers := []string{}
		if name == "event pair" {
			headers = []string{"Content-Type", "application/cloudevents+json"}
		}
		got := d.meanwhile(agent, "POST", way[0], way[1], headers...)
		choose()
		(<-got).want(t, 200, "Yes")
		if asked++; sent(subject.VerbAsk) != asked || sent(subject.VerbWait) != 0 {
			t.Fatalf("%s: %d asks and %d waits were sent, want %d and none", name, sent(subject.VerbAsk), sent(subject.VerbWait), asked)
		}
	}
	socket := d.dial(agent, "?session=s11")
	socket.send(`{"type":"ask:question:request","data":{"id":"w1","agentId":"builder","questions":[{"question":"Deploy?","options":[{"label":"Yes"},{"label":"No"}]}]}}`)
	socket.next("ask:question:pending")
	choose()
	socket.next("ask:question:response")
	if n := sent(subject.VerbWait); n != 0 {
		t.Errorf("a socket sent %d waits", n)
	}
}

// The same ask waits at two gateways, and its broker is replaced meanwhile:
// both get the outcome.
func TestTheSameAskWaitsAtTwoGateways(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := bus.Broker(broker.Options{})
	a, b := openOn(t, bus, gateway.Options{}), openOn(t, bus, gateway.Options{})
	agent := a.agent("*")
	const path, body = "/v1/asks?session=s1&wait=5m", `{"questions":[{"id":"go","text":"Deploy?","options":[{"id":"yes","label":"Yes"},{"id":"no","label":"No"}]}]}`
	one := a.meanwhile(agent, "POST", path, body)
	k := a.key("s1", "")
	sent := bus.Requests()
	two := b.meanwhile(agent, "POST", path, body)
	natstest.Eventually(t, "the other gateway asks as well", func() bool { return sent(subject.VerbAsk) > 0 })
	stop()
	bus.Broker(broker.Options{})
	a.answers(k, ask.Answer{QuestionID: "go", Selected: []string{"yes"}})
	for _, got := range []<-chan reply{one, two} {
		(<-got).want(t, 200, `"answered"`, k.ID)
	}
}
