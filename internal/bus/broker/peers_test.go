package broker_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// A broker whose --max-store or --policy is not that of another one, or whose
// --max-store is above its server's, says so and names both values. It serves
// all the same.
func TestABrokerNoticesThatItsSettingsDiffer(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true, MaxStore: 128 << 20})
	var counts *metrics.Set // of the broker that was started last
	start := func(budget int64, policy string) *broker.Broker {
		led, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		p, err := quota.Parse([]byte(policy))
		if err != nil {
			t.Fatal(err)
		}
		counts = metrics.New()
		br, _ := b.BrokerOn(led, broker.Options{Quotas: func() *quota.Policy { return p }, Metrics: counts})
		return br
	}
	first := start(64<<20, "default: {pending: 10}")
	if notes := first.Notes(); len(notes) > 0 {
		t.Errorf("of the only broker: %q", notes)
	}
	second := start(256<<20, "default:\n  pending: 11\n")
	var notes string
	natstest.Eventually(t, "the other broker's settings are known", func() bool {
		notes = strings.Join(second.Notes(), "\n")
		return strings.Contains(notes, "--policy")
	})
	for _, want := range []string{
		"--max-store is 256 MiB here and 128 MiB at server askbus", "--max-store is 256 MiB here and 64 MiB at broker ", "--policy is of digest ", " on ",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	if text := scrape(t, counts); !strings.Contains(text, "\naskbus_broker_wrong_settings 2\n") {
		t.Errorf("the metric is not 2 in %s", text)
	}
	if err := second.Healthy(); err != nil {
		t.Errorf("it does not serve: %v", err)
	}
}
