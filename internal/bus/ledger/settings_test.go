package ledger_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go/jetstream"
)

func TestABrokerThatIsToldOtherSettingsRefuses(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 2, Retention: 48 * time.Hour, Margin: time.Hour})
	open := func(o ledger.Options) error {
		_, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), o)
		return err
	}
	for name, o := range map[string]ledger.Options{
		"nothing": {}, "the same": {Partitions: 2, Replicas: 1, Retention: 48 * time.Hour, Margin: time.Hour}, "a part": {Retention: 48 * time.Hour},
	} {
		if err := open(o); err != nil {
			t.Errorf("told %s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		opts ledger.Options
		says []string
	}{
		"retention":  {ledger.Options{Retention: time.Hour}, []string{"retention is 1h0m0s here and 48h0m0s in the ledger", "ASKBUS_RETENTION", "askbus ledger set --retention 1h0m0s"}},
		"margin":     {ledger.Options{Margin: time.Minute}, []string{"margin is 1m0s here and 1h0m0s in the ledger", "askbus ledger set --margin 1m0s"}},
		"replicas":   {ledger.Options{Replicas: 3}, []string{"replicas is 3 here and 1 in the ledger", "askbus ledger set --replicas 3"}},
		"partitions": {ledger.Options{Partitions: 7}, []string{"partitions is 7 here and 2 in the ledger", "never change"}},
		"two":        {ledger.Options{Partitions: 7, Margin: time.Minute}, []string{"partitions is 7", "margin is 1m0s"}},
	} {
		err := open(c.opts)
		if err == nil || !strings.Contains(err.Error(), "differ from the ledger's") {
			t.Errorf("told another %s: %v", name, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("told another %s, it does not say %q: %v", name, says, err)
			}
		}
	}
}

func TestAnotherProtocolIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	s, err := b.js.Stream(t.Context(), subject.Stream(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{strconv.Itoa(wire.Protocol() - 1), strconv.Itoa(wire.Protocol() + 1), "0", ""} {
		cfg := s.CachedInfo().Config
		cfg.Metadata["askbus.protocol"] = number
		if _, err := b.js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		_, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), `askbus.protocol="`+number+`", and this version uses `+strconv.Itoa(wire.Protocol())) {
			t.Errorf("protocol %q: %v", number, err)
		}
	}
}

func TestSettingsAreChangedOnPurpose(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Retention: 100 * time.Hour, Margin: 10 * time.Hour})
	set := func(s ledger.Settings) error {
		_, _, err := ledger.Set(t.Context(), b.Connect(rights.Role{Name: rights.RoleMaintenance}), s)
		return err
	}
	for name, s := range map[string]ledger.Settings{
		"other partitions": {Partitions: 9}, "a margin too short": {Margin: time.Second}, "too many replicas": {Replicas: 9},
		"shorter than a running timer": {Retention: time.Hour},
	} {
		if err := set(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := set(ledger.Settings{Retention: time.Hour, Margin: 200 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := set(ledger.Settings{Margin: 10 * time.Hour}); err == nil {
		t.Error("the margin was lowered while questions of the first retention may be pending")
	}
	if _, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Retention: time.Hour, Margin: 200 * time.Hour}); err != nil {
		t.Error(err)
	}
	if err := set(ledger.Settings{}); err != nil {
		t.Errorf("only looking: %v", err)
	}
	js, err := jetstream.New(b.Connect(rights.Role{Name: rights.RoleLedger}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), subject.Stream(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.UpdateStream(t.Context(), s.CachedInfo().Config); err == nil {
		t.Error("a broker's credential changed a stream")
	}
}

func TestWhatSomebodyChangedOfAStreamIsRestored(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	nc := b.Connect(rights.Role{Name: rights.RoleMaintenance})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{subject.Stream(0), subject.Stream(1), subject.StateStream, subject.FileStream} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		c.MaxAge, c.MaxMsgs, c.AllowDirect, c.RePublish = time.Hour, 1000, false, nil
		if name == subject.Stream(0) {
			c.MaxBytes = 1 << 20
		}
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	wrong := func() (all []string) {
		t.Helper()
		in, err := ledger.Inspect(t.Context(), nc)
		if err != nil {
			t.Fatal(err)
		}
		for i := range in.Streams {
			all = append(all, in.Streams[i].Wrong...)
		}
		return all
	}
	if all := wrong(); len(all) != 4+4+4+3+1 {
		t.Errorf("changed: %q", all)
	}
	if _, _, err := ledger.Set(t.Context(), nc, ledger.Settings{}); err != nil || len(wrong()) == 0 {
		t.Errorf("looking changes the streams: %v", err)
	}
	if _, _, err := ledger.Set(t.Context(), nc, ledger.Settings{Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	if all := wrong(); len(all) > 0 {
		t.Errorf("restored: %q", all)
	}
}

// No broker may change a stream, so the shares of a ledger follow another budget only on purpose.
func TestFilesAndSharedStateGetTheirSharesOfAnotherBudget(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Budget: 320 << 20})
	nc, writer := b.Connect(rights.Role{Name: rights.RoleMaintenance}), b.Connect(rights.Role{Name: rights.RoleLedger})
	if _, err := b.js.Publish(t.Context(), subject.FileLedger+".x", make([]byte, 700<<10)); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct{ budget, files, state int64 }{
		{0, 64 << 20, 10 << 20},
		{100 << 30, 4 << 30, 64 << 20},
		{640 << 20, 128 << 20, 20 << 20},
		{1 << 20, 2 * 700 << 10, 1 << 20}, // twice what is held
	} {
		got, err := ledger.SetShares(t.Context(), nc, v.budget)
		if err != nil || got.Files < v.files || got.Files > v.files+200 || got.State != v.state {
			t.Errorf("budget %d: %+v, %v; want %+v", v.budget, got, err, v)
		}
		led, err := ledger.Open(t.Context(), writer, ledger.Options{Budget: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if led.FileBudget() != got.Files {
			t.Errorf("a broker gives files %d bytes of %+v", led.FileBudget(), got)
		}
	}
}
