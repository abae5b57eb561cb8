package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// With any version string the broker starts, discovery has a semantic version,
// and the metadata has the original string.
func TestEveryVersionStringStarts(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	led, operator := bus.Ledger(), bus.Connect(rights.Role{Name: rights.RoleOperator})
	for version, want := range map[string]string{
		"":                              "0.0.0",
		"0.1.0":                         "0.1.0",
		"v0.1.0":                        "0.1.0",
		"v1.2.3-rc.1+build.7":           "1.2.3-rc.1+build.7",
		"v0.1.0-3-g79f025d":             "0.1.0-3-g79f025d",
		"v0.1.0-3-g79f025d-dirty":       "0.1.0-3-g79f025d-dirty",
		"v0.0.0-20261122003425-79f025d": "0.0.0-20261122003425-79f025d",
		"v0.1.0+dirty":                  "0.1.0+dirty",
		"79f025d":                       "0.0.0+79f025d",
		"0123456":                       "0.0.0+0123456",
		"79f025d-dirty":                 "0.0.0+79f025d-dirty",
		"devel":                         "0.0.0+devel",
		"dev":                           "0.0.0+dev",
		"(devel)":                       "0.0.0+devel",
		"v1":                            "0.0.0+v1",
		"v1.2":                          "0.0.0+v1.2",
		"v01.2.3":                       "0.0.0+v01.2.3",
		"1.2.3-01":                      "0.0.0+1.2.3-01",
		"1.2.3.4":                       "0.0.0+1.2.3.4",
		"release/2026-11":               "0.0.0+release.2026-11",
		"v1.2.3\n":                      "0.0.0+v1.2.3",
		" .. ":                          "0.0.0",
		"版本一 \x00\xff\u202e":            "0.0.0",
	} {
		if got := startedAs(t, bus, led, operator, version); got.Version != want || got.Metadata["version"] != shown(t, version) {
			t.Errorf("%q: runs as %q, metadata %q; want %q", version, got.Version, got.Metadata, want)
		}
	}
}

// shown formats a version as in discovery's JSON.
func shown(t *testing.T, version string) string {
	t.Helper()
	if version == "" {
		version = "0.0.0"
	}
	data, err := json.Marshal(version)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &version); err != nil {
		t.Fatal(err)
	}
	return version
}

// startedAs runs a broker until discovery has found it.
func startedAs(t *testing.T, bus *natstest.Bus, led *ledger.Ledger, operator *nats.Conn, version string) micro.Info {
	t.Helper()
	nc := bus.Connect(rights.Role{Name: rights.RoleBroker})
	defer nc.Close()
	br := broker.New(nc, led, broker.Options{Version: version})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- br.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}()
	var info micro.Info
	natstest.Eventually(t, "the broker is ready", func() bool { return br.Ready() || len(done) > 0 })
	reply, err := operator.Request("$SRV.INFO.askbus", nil, 5*time.Second)
	if err != nil {
		t.Errorf("%q: %v", version, err)
		return info
	}
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		t.Errorf("%q: %v", version, err)
	}
	return info
}

// A program of another protocol number is refused before anything is stored, so it cannot leave an ask
// behind that it then says was refused. Foreign clients say no number.
func TestARequestOfAnotherProtocolNumberStoresNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web := plain(t, b, agent("s1")), plain(t, b, surface(subject.TypeWeb))
	other := nats.Header{wire.HeaderProtocol: {"1"}}
	refused := func(m *nats.Msg) {
		t.Helper()
		if e := problem(t, m); !errors.Is(e, ask.ErrForbidden) || !strings.Contains(e.Detail, "the broker speaks "+wire.ProtocolText()) {
			t.Errorf("%v", e)
		}
	}
	refused(request(t, nc, askSubject("s1", "a1"), other, event(cloudevent.TypeAsked, "a1", askData("a1"))))
	if e := problem(t, request(t, nc, "askv1.acme.s1.get.a1", nil, "")); !errors.Is(e, ask.ErrNotFound) {
		t.Errorf("it was stored: %v", e)
	}
	asked(t, nc, "s1", "a1")
	refused(request(t, web, answerSubject(subject.TypeWeb, "s1", "a1"), other, event(cloudevent.TypeAnswered, "a1", answerData("a1", "x1", "pg"))))
	key := subject.StateKey{Name: "a1"}
	refused(request(t, web, subject.StateRequest{Verb: subject.VerbPut, Role: subject.StateResponder, Type: subject.TypeWeb, Bucket: subject.BucketSessions, Key: key}.String(), other, "{}"))
	if m := request(t, nc, "askv1.acme.s1.get.a1", nil, ""); !strings.Contains(string(m.Data), `"pending"`) {
		t.Errorf("the ask is %s", m.Data)
	}
}
