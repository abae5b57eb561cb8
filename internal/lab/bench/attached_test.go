package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go/jetstream"
)

// operator returns the credential of a measuring operator.
func operator(t *testing.T, b *natstest.Bus) client.Credential {
	t.Helper()
	return credential(t, b, rights.Role{Name: rights.RoleOperator})
}

func credential(t *testing.T, b *natstest.Bus, r rights.Role) client.Credential {
	t.Helper()
	c, err := b.Asserting(r, assertion.Set{Proven: []string{"os=os:bench"}})
	if err != nil {
		t.Fatal(err)
	}
	return client.Credential(c)
}

// admin has full rights.
func admin(t *testing.T, b *natstest.Bus) *client.Credential {
	t.Helper()
	c := credential(t, b, rights.Role{Name: rights.RoleLedgerAdmin})
	return &c
}

// clean fails if a measurement has left something on the bus.
func clean(t *testing.T, b *natstest.Bus) {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		if !strings.HasPrefix(name, "ASKS_") && name != subject.StateStream && name != subject.AuditStream && name != subject.FileStream {
			t.Errorf("stream %s is left", name)
		}
	}
	if names.Err() != nil {
		t.Error(names.Err())
	}
	r, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.List(t.Context(), responder.Query{State: ask.StatePending})
	if err != nil || len(page.Items) > 0 {
		t.Errorf("%d asks are left, %v", len(page.Items), err)
	}
}

// attached measures the cycle on a running bus and returns the output.
func attached(t *testing.T, b *natstest.Bus, full *client.Credential) (bench.Report, string, map[string]any) {
	t.Helper()
	bed, err := bench.Attached("acme", operator(t, b), full, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	rows, err := bed.Cycle(t.Context(), tiny())
	if err != nil {
		t.Fatal(err)
	}
	r := bed.NewReport(rows)
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return r, text.String(), fields
}

func TestABusThatRunsIsMeasuredAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Partitions: 3}})
	without, text, plain := attached(t, b, nil)
	if !strings.Contains(text, "floor: left out: no full-rights credential") || without.Cycle[0].PerSec <= 0 || without.Cycle[0].FloorP50 != nil {
		t.Errorf("%+v\n%s", without, text)
	}
	clean(t, b)
	with, text, full := attached(t, b, admin(t, b))
	if row := with.Cycle[0]; row.Partitions != 3 || row.Replicas != 1 || row.FloorP50 == nil || row.Sync != "unknown" || !strings.Contains(text, "floor: raw NATS") {
		t.Errorf("%+v\n%s", with, text)
	}
	clean(t, b)
	for name := range plain {
		if _, ok := full[name]; !ok {
			t.Errorf("%s is there without a floor only", name)
		}
	}
	for name := range full {
		if _, ok := plain[name]; !ok {
			t.Errorf("%s is there with a floor only", name)
		}
	}
}

func TestOtherMeasurementsOfABusThatRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	bed, err := bench.Attached("acme", operator(t, b), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	if n, err := bed.Noisy(t.Context(), tiny()); err != nil || n.Beside.N == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	if v, err := bed.Visible(t.Context(), 2, ""); err != nil || v.Screen.N == 0 {
		t.Errorf("%+v, %v", v, err)
	}
	bed.Close()
	clean(t, b)
}

func TestAnEndInTheMiddleLeavesNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	bed, err := bench.Attached("acme", operator(t, b), admin(t, b), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	rounds := 0
	_, err = bed.Cycle(ctx, bench.Plan{InFlight: []int{32}, Round: 2 * time.Second, Progress: func(string) {
		if rounds++; rounds == 1 {
			time.AfterFunc(100*time.Millisecond, stop)
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	bed.Close()
	clean(t, b)
}

func TestCredentialsThatCannotMeasureAreNamed(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	if _, err := bench.Attached("acme", credential(t, b, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}), nil, nil); err == nil || !strings.Contains(err.Error(), "operator") {
		t.Errorf("an agent: %v", err)
	}
	weak, wrong := operator(t, b), *admin(t, natstest.Start(t, natstest.Options{NoBroker: true})) // of another bus
	wrong.URL = weak.URL
	for name, full := range map[string]*client.Credential{"full rights": &weak, "refused": &wrong} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bed, err := bench.Attached("acme", operator(t, b), full, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer bed.Close()
			if _, err := bed.Cycle(t.Context(), tiny()); err == nil || !strings.Contains(err.Error(), "--admin-creds") || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}
