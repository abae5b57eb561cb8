package quota_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/testkit/schematest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/oasdiff/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func policy(t *testing.T, yaml string) func() *quota.Policy {
	t.Helper()
	p, err := quota.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return func() *quota.Policy { return p }
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || e.Code != ask.CodeQuota {
		t.Fatalf("%v, want a refusal for quota", err)
	}
	for _, w := range words {
		if !strings.Contains(e.Detail, w) {
			t.Errorf("%q does not say %q", e.Detail, w)
		}
	}
}

func keeper(p func() *quota.Policy, budget int64, use quota.Use) *quota.Keeper {
	return quota.New(quota.Options{
		Policy: p, Budget: func() int64 { return budget }, Files: func() int64 { return 0 },
		Measure: func(context.Context, ask.Key) (quota.Use, error) { return use, nil },
		Failed:  func(context.Context, ask.Key, error) {},
	})
}

var s1, s2, other = ask.Key{Tenant: "acme", Session: "s1"}, ask.Key{Tenant: "acme", Session: "s2"}, ask.Key{Tenant: "other", Session: "s1"}

func TestAPolicyIsStrict(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"default: {pendng: 3}":                    "pendng",
		"default: {pending: 0}":                   "invalid limit 0: use a number above 0",
		"default: {pending: many}":                "invalid limit",
		"default: {pending: 40%}":                 "/default/pending: only stored_bytes",
		"tenants: {acme: {session: {waits: 4%}}}": "/tenants/acme/session/waits: only stored_bytes",
		"default: {stored_bytes: 101%}":           "invalid limit",
		"default: {stored_bytes: 2GiB%}":          "invalid limit",
		"default: {stored_bytes: 1.5GiB}":         "invalid limit",
		"tenants: {a.b: {pending: 3}}":            `invalid tenant "a.b": use A-Z a-z 0-9 _ -`,
		"- 1":                                     "a list does not fit here; use a mapping",
		"default: {min_proof: oath}":              `/default/min_proof: unknown proof "oath": use one of host-dialog, os,`,
		"a: b: c":                                 "invalid YAML",
		"":                                        "the file is empty", // as one that was truncated
		"# nothing\n---\n":                        "the file is empty",
		"tenants:":                                "tenants has no value",
	} {
		if _, err := quota.Parse([]byte(yaml)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
	for _, yaml := range []string{"{}", "default: {}", "default: {pending: none, stored_bytes: 2GiB, session: {asks_per_second: 0.5}}", "default: {stored_bytes: 512MB}"} {
		if _, err := quota.Parse([]byte(yaml)); err != nil {
			t.Errorf("%q: %v", yaml, err)
		}
	}
}

// TestTheChartTakesThePoliciesThatAreRead compares the schema of the chart's
// value "policy" with what Parse takes: Helm refuses a misspelt name before a
// broker does.
func TestTheChartTakesThePoliciesThatAreRead(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("../../../charts/askbus/values.schema.json#/properties/policy")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		"{}", "default: {pendng: 3}", "defaults: {}", "tenants: {acme: {sesion: {}}}", "tenants: {a.b: {pending: 3}}", "tenants: {acme: 3}", "- 1",
		"default: {min_proof: oath}", "tenants: {acme: {session: {min_proof: os}}}", "tenants: {acme: {session: {session: {}}}}",
		"default: {pending: none, stored_bytes: 2GiB, session: {asks_per_second: 0.5}}",
	}
	for _, amount := range []string{"0", "-1", "0.5", "3", "1e3", "none", "None", "many", "40%", "100%", "101%", "0.5%", "2GiB", "512MB", "7k", "1.5GiB", "2GiB%", "'20'", "[1]", "true"} {
		texts = append(texts, "default: {pending: "+amount+"}", "default: {session: {file_bytes: "+amount+"}}")
	}
	for _, proof := range ask.MinProofs() {
		texts = append(texts, "tenants: {acme: {min_proof: "+proof+"}}")
	}
	for limit := range reflect.TypeFor[quota.Limits]().Fields() {
		name := limit.Tag.Get("json")
		texts = append(texts, "default: {"+name+": 3, session: {"+name+": 3}}")
	}
	for _, text := range texts {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, parsed := quota.Parse([]byte(text))
		if err := schematest.Check(schema, data); (err == nil) != (parsed == nil) {
			t.Errorf("%s: the chart says %v, and a broker %v", text, err, parsed)
		}
	}
}

func TestATenantDemandsAProof(t *testing.T) {
	t.Parallel()
	p := policy(t, "default: {min_proof: os}\ntenants: {prod: {min_proof: oidc}, dev: {pending: 3}}")()
	if p.MinProof("prod") != "oidc" || p.MinProof("dev") != "os" || p.MinProof("any") != "os" || quota.Default().MinProof("any") != "" {
		t.Error(p.MinProof("prod"), p.MinProof("dev"), p.MinProof("any"))
	}
}

func TestRatesAreOfSessionAndTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := keeper(policy(t, "default: {asks_per_second: 15, session: {asks_per_second: 10}}"), 0, quota.Use{})
		for range 20 { // a burst of two seconds' worth
			if err := q.Ask(s1); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, q.Ask(s1), "session s1 of tenant acme", "more than 10 asks a second", "same id")
		for range 10 {
			if err := q.Ask(s2); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, q.Ask(s2), "tenant acme sends more than 15")
		if err := q.Ask(other); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		time.Sleep(time.Second)
		if err := q.Ask(s1); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

func TestPendingAsksAndStoredBytesAreCounted(t *testing.T) {
	t.Parallel()
	q := keeper(policy(t, "default: {stored_bytes: 40%, session: {pending: 2}}\ntenants: {other: {session: {pending: none, stored_bytes: none}}}"), 1_000_000, quota.Use{})
	for range 2 {
		counted, err := q.Store(s1, 100)
		if err != nil {
			t.Fatal(err)
		}
		counted(true)
	}
	_, err := q.Store(s1, 100)
	refused(t, err, "session s1 of tenant acme has 2 pending asks", "quota pending is 2")
	q.Ended(s1)
	counted, err := q.Store(s1, 100)
	if err != nil {
		t.Fatal(err)
	}
	counted(false)
	if _, err := q.Store(s1, 100); err != nil {
		t.Errorf("the last one was not stored: %v", err)
	}
	stored := 0
	for ; ; stored += 10_000 {
		if _, err = q.Store(other, 10_000); err != nil {
			break
		}
	}
	// Half of it is reserved for the ends of pending asks.
	if refused(t, err, "quota stored_bytes is"); stored < 150_000 || stored > 200_000 {
		t.Errorf("%d bytes of 400000 were stored", stored)
	}
}

// What the ledger holds counts, whichever broker stored it; what was removed
// does not.
func TestTheLedgerIsMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		use := quota.Use{Pending: 100, Messages: 100, Mean: 1000}
		q := quota.New(quota.Options{
			Policy: policy(t, "default: {pending: 50}"), Budget: func() int64 { return 1 << 40 },
			Measure: func(context.Context, ask.Key) (quota.Use, error) { return use, nil }, Failed: func(context.Context, ask.Key, error) {},
		})
		go q.Run(ctx)
		counted, err := q.Store(s1, 10)
		if err != nil {
			t.Fatal(err) // no measurement yet
		}
		counted(true)
		synctest.Wait()
		_, err = q.Store(s1, 10)
		refused(t, err, "pending asks")
		use = quota.Use{}
		time.Sleep(2 * time.Second)
		_, err = q.Store(s1, 10) // triggers a measurement
		refused(t, err)
		synctest.Wait()
		if _, err := q.Store(s1, 10); err != nil {
			t.Error(err)
		}
		cancel()
	})
}

// An ask may be in the ledger already while it counts as being stored.
func TestAnAskThatIsMeasuredWhileItIsStoredCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := keeper(policy(t, "default: {session: {pending: 3}}"), 0, quota.Use{Pending: 2, Messages: 2, Mean: 1000})
		first, err := q.Store(s1, 10)
		if err != nil {
			t.Fatal(err)
		}
		second, err := q.Store(s1, 10)
		if err != nil {
			t.Fatal(err)
		}
		first(true) // requests a measurement
		go q.Run(ctx)
		synctest.Wait()
		second(true)
		if _, err := q.Store(s1, 10); err != nil {
			t.Error(err)
		}
		_, err = q.Store(s1, 10)
		refused(t, err, "has 3 pending asks")
		cancel()
	})
}

// A measurement that misses a part of a file which is still being stored does not forget it.
func TestAPartThatIsMeasuredWhileItIsStoredCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := keeper(policy(t, "default: {session: {file_bytes: 600KiB}}"), 0, quota.Use{})
		settle, err := q.Upload(s1, 500_000) // requests a measurement
		if err != nil {
			t.Fatal(err)
		}
		go q.Run(ctx)
		synctest.Wait()
		_, err = q.Upload(s1, 300_000)
		refused(t, err, "session s1 of tenant acme would have 800000 bytes")
		settle()
		time.Sleep(2 * time.Second)
		_, _ = q.Upload(s1, 300_000) // refused, and measured: the part was not stored
		synctest.Wait()
		if _, err := q.Upload(s1, 300_000); err != nil {
			t.Error(err)
		}
	})
}

func TestHeldRequestsAreCountedAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := keeper(policy(t, "default: {session: {waits: 1}}"), 0, quota.Use{})
		go q.Run(ctx)
		for i := range 2000 {
			k := ask.Key{Tenant: "acme", Session: fmt.Sprint("s", i)}
			release, err := q.Hold(k)
			if err != nil {
				t.Fatal(err)
			}
			_, err = q.Hold(k)
			refused(t, err, "1 requests of session", "quota waits is 1")
			release()
			release() // counts once
		}
		if release, err := q.Hold(s1); err != nil {
			t.Error(err)
		} else {
			release()
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := q.Len(); n != 0 {
			t.Errorf("%d meters are left", n)
		}
		cancel()
	})
}

// Without a policy there are no limits.
func TestNoKeeperRefusesNothing(t *testing.T) {
	t.Parallel()
	var q *quota.Keeper
	_, err := q.Store(s1, 1)
	_, held := q.Hold(s1)
	if q.Ended(s1); errors.Join(q.Ask(s1), err, held) != nil {
		t.Error(err, held)
	}
}

func TestPoliciesWithTheSameLimitsHaveTheSameDigest(t *testing.T) {
	t.Parallel()
	of := func(text string) string {
		p, err := quota.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest()
	}
	one := of("default:\n  pending: 10\n  stored_bytes: 1GiB\ntenants:\n  a: {waits: none}\n  b: {min_proof: os}\n")
	if same := of("tenants:\n  b:\n    min_proof: os\n  a:\n    waits: none\ndefault: {stored_bytes: 1073741824, pending: 10}\n"); same != one {
		t.Errorf("%s and %s", one, same)
	}
	for _, other := range []string{"default: {pending: 10}", "default: {pending: 11}", "default: {stored_bytes: 10%}", "tenants: {a: {waits: none}}", "tenants: {a: {min_proof: os}}"} {
		if of(other) == one || of(other) == quota.Default().Digest() {
			t.Errorf("%s changes nothing", other)
		}
	}
}
