// Package quota limits how much a tenant and each of its sessions may use, and
// counts it: asks per second, pending asks, stored bytes, bytes of files, held
// requests.
//
// A broker counts what passes through it, and reads from the ledger, at most
// once a second, what other brokers did. So the limits of pending asks and
// stored bytes apply to all brokers together, up to what they store within that
// second, and those of rates and held requests to each of them. A counter in the
// ledger would add a synced write to each ask, and a server cannot count the
// bytes below a subject. A pending ask counts twice, because its outcome will
// copy it.
package quota

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
)

// Amount is a limit: a number, a size such as "2GiB", a share of the ledger's
// budget such as "40%", or "none".
type Amount struct {
	n       float64
	percent bool
	none    bool
}

// amountOf returns the limit n.
func amountOf(n float64) *Amount { return &Amount{n: n} }

// percentOf returns the limit of n percent of the ledger's budget.
func percentOf(n float64) *Amount { return &Amount{n: n, percent: true} }

// UnmarshalJSON reads a number or a string.
func (a *Amount) UnmarshalJSON(data []byte) error {
	s := strings.Trim(string(data), `"`)
	if s == "none" {
		*a = Amount{none: true}
		return nil
	}
	number, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil && !percent {
		var size int64
		size, err = file.ParseSize(s)
		n = float64(size)
	}
	if err != nil || !(n > 0 && n < 1<<60) || percent && n > 100 {
		return fmt.Errorf(`invalid limit %.40s: use a number above 0, a size such as "2GiB", a share of the store such as "40%%", or "none"`, data)
	}
	*a = Amount{n: n, percent: percent}
	return nil
}

// MarshalJSON writes the limit so that UnmarshalJSON reads it.
func (a *Amount) MarshalJSON() ([]byte, error) {
	switch {
	case a.none:
		return []byte(`"none"`), nil
	case a.percent:
		return fmt.Appendf(nil, `"%v%%"`, a.n), nil
	}
	return strconv.AppendFloat(nil, a.n, 'f', -1, 64), nil
}

// value returns the limit as a number; 0: none. A share of an unknown budget is
// none.
func (a *Amount) value(budget int64) float64 {
	switch {
	case a == nil || a.none:
		return 0
	case a.percent:
		return a.n / 100 * float64(budget)
	}
	return a.n
}

// Limits are what one tenant, or one session, may use. A missing limit is that
// of the default.
type Limits struct {
	Pending       *Amount `json:"pending"`             // asks that nobody has answered
	AsksPerSecond *Amount `json:"asks_per_second"`     // for longer than a burst of twice as many
	StoredBytes   *Amount `json:"stored_bytes"`        // of the ledger, with what the pending asks need to end
	FileBytes     *Amount `json:"file_bytes"`          // of uploaded files
	Waits         *Amount `json:"waits"`               // requests that a broker holds
	Requests      *Amount `json:"requests_per_second"` // of every kind, at one broker, for longer than a burst of twice as many
	Connections   *Amount `json:"connections"`         // to one NATS server at once
}

func (l *Limits) over(base *Limits) Limits {
	pick := func(own, other *Amount) *Amount {
		if own != nil {
			return own
		}
		return other
	}
	return Limits{
		pick(l.Pending, base.Pending), pick(l.AsksPerSecond, base.AsksPerSecond),
		pick(l.StoredBytes, base.StoredBytes), pick(l.FileBytes, base.FileBytes), pick(l.Waits, base.Waits),
		pick(l.Requests, base.Requests), pick(l.Connections, base.Connections),
	}
}

func (l *Limits) check(at string) error {
	for name, a := range map[string]*Amount{"pending": l.Pending, "asks_per_second": l.AsksPerSecond, "waits": l.Waits, "requests_per_second": l.Requests, "connections": l.Connections} {
		if a != nil && a.percent {
			return fmt.Errorf("%s/%s: only stored_bytes and file_bytes can be a share of the store", at, name)
		}
	}
	return nil
}

// Tenant is what a tenant and each of its sessions may use.
type Tenant struct {
	Limits
	Session Limits `json:"session"`

	MinProof string `json:"min_proof"` // of answers, in addition to what an ask demands
}

// Policy holds the limits of all tenants.
type Policy struct {
	Default Tenant            `json:"default"`
	Tenants map[string]Tenant `json:"tenants"`
}

// Default returns the limits that apply if the policy has none: wide enough for
// every well-behaved agent that was measured, and narrow enough that one tenant
// leaves room for two others, and one session for another of its tenant.
func Default() *Policy {
	return &Policy{Default: Tenant{
		Limits:  Limits{Pending: amountOf(200_000), AsksPerSecond: amountOf(4000), StoredBytes: percentOf(40), FileBytes: percentOf(40), Waits: amountOf(20_000), Requests: amountOf(8000)},
		Session: Limits{Pending: amountOf(50_000), AsksPerSecond: amountOf(1000), StoredBytes: percentOf(20), FileBytes: percentOf(20), Waits: amountOf(5000), Requests: amountOf(2000), Connections: amountOf(500)},
	}}
}

// Parse reads a policy in YAML.
func Parse(data []byte) (*Policy, error) {
	if err := file.Complete(data); err != nil { // a truncated file must not end what tenants demand
		return nil, fmt.Errorf("%w; write {} for the defaults, such as tenants: {}", err)
	}
	var p Policy
	if err := file.DecodeYAML(data, &p); err != nil {
		return nil, err
	}
	base := Default().Default
	p.Default = p.Default.over(&base)
	if err := p.Default.check("/default"); err != nil {
		return nil, err
	}
	for name, t := range p.Tenants {
		if !ask.ValidToken(name) {
			return nil, fmt.Errorf("/tenants: invalid tenant %q: use A-Z a-z 0-9 _ -", name)
		}
		t = t.over(&p.Default)
		if err := t.check("/tenants/" + name); err != nil {
			return nil, err
		}
		p.Tenants[name] = t
	}
	return &p, nil
}

func (t *Tenant) over(base *Tenant) Tenant {
	return Tenant{t.Limits.over(&base.Limits), t.Session.over(&base.Session), cmp.Or(t.MinProof, base.MinProof)}
}

func (t *Tenant) check(at string) error {
	if t.MinProof != "" && !slices.Contains(ask.MinProofs(), t.MinProof) {
		return fmt.Errorf("%s/min_proof: unknown proof %.40q: use one of %s", at, t.MinProof, strings.Join(ask.MinProofs(), ", "))
	}
	return errors.Join(t.Limits.check(at), t.Session.check(at+"/session"))
}

// Digest identifies the limits: policies with the same ones have the same
// digest, however their files are written.
func (p *Policy) Digest() string {
	data, err := json.Marshal(p)
	if err != nil {
		return "" // every amount can be written
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Connections are how many a tenant may have to one NATS server, and each of its
// sessions; 0: no limit.
func (p *Policy) Connections(tenant string) (ofTenant, ofSession int) {
	t := p.of(tenant)
	return int(t.Connections.value(0)), int(t.Session.Connections.value(0))
}

// MinProof is how well it must be known who answers a tenant's asks; empty: as
// each ask says.
func (p *Policy) MinProof(tenant string) string { return p.of(tenant).MinProof }

func (p *Policy) of(tenant string) *Tenant {
	if t, ok := p.Tenants[tenant]; ok {
		return &t
	}
	return &p.Default
}
