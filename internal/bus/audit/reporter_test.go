package audit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/pkg/ask"
)

// sink receives reports instead of a broker.
type sink struct {
	hold chan struct{}

	mu   sync.Mutex
	got  []audit.Report
	fail error // returned instead
}

func (s *sink) send(ctx context.Context, r audit.Report) error {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.got = append(s.got, r)
	return nil
}

func (s *sink) reports() []audit.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *sink) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *sink) lost() (n int64) {
	for _, r := range s.reports() {
		n += r.Lost
	}
	return n
}

// reporting runs a reporter in a synctest bubble until do returns, and then to its end.
func reporting(t *testing.T, s *sink, do func(*audit.Reporter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if s.hold != nil {
			s.hold = make(chan struct{}) // of this bubble
		}
		r := audit.NewReporter(s.send, audit.ReporterOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		do(r)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func from(address string) audit.Attempt {
	return audit.Attempt{What: "POST /v1/asks", Code: ask.CodeUnauthorized, Why: "this token is unknown or revoked", Address: address}
}

func TestRefusalsOfAMinuteAreOneReport(t *testing.T) {
	t.Parallel()
	s := &sink{}
	reporting(t, s, func(r *audit.Reporter) {
		for range 500 {
			r.Refused(from("192.0.2.7"))
		}
		time.Sleep(30 * time.Second)
		r.Refused(from("192.0.2.7"))
		synctest.Wait()
		if len(s.reports()) != 0 {
			t.Errorf("%d reports before the minute is over", len(s.reports()))
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if len(s.reports()) != 1 {
			t.Fatalf("%d reports", len(s.reports()))
		}
		p := s.reports()[0]
		if p.Action != audit.Refused || p.Refusal.Count != 501 || p.Refusal.Last.Sub(p.Refusal.First) != 30*time.Second || p.Address != "192.0.2.7" || p.ID == "" {
			t.Errorf("%+v %+v", p, p.Refusal)
		}
	})
	if len(s.reports()) != 1 {
		t.Errorf("%d reports at the end", len(s.reports()))
	}
}

func TestEachCallerHasAReport(t *testing.T) {
	t.Parallel()
	s := &sink{}
	reporting(t, s, func(r *audit.Reporter) {
		for _, address := range []string{"192.0.2.7", "192.0.2.8", "192.0.2.7"} {
			r.Refused(from(address))
		}
		for _, address := range []string{"192.0.2.7", "192.0.2.8"} { // one token, from two addresses
			a := from(address)
			a.Token, a.Known, a.Tenant = "t1", true, "acme"
			r.Refused(a)
		}
		mei := from("192.0.2.9")
		mei.By, mei.Known = ask.By{Principal: "oidc:mei", Proof: "oidc"}, true
		r.Refused(mei)
	})
	var got []string
	for _, p := range s.reports() {
		line := fmt.Sprint(p.Address, " ", p.Refusal.Count, " ", p.Principal)
		if p.Object != nil {
			line = fmt.Sprint(p.Object.ID, p.Object.Note, " ", p.Refusal.Count, " ", p.Tenant)
		}
		got = append(got, strings.TrimSpace(line))
	}
	slices.Sort(got)
	if want := []string{"192.0.2.7 2", "192.0.2.8 1", "192.0.2.9 1 oidc:mei", "t1 2 acme"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A caller with many addresses gets a record for some of them, and one for the rest.
func TestManyAddressesCannotFillTheAudit(t *testing.T) {
	t.Parallel()
	s := &sink{}
	const minutes, each = 60, 5000
	reporting(t, s, func(r *audit.Reporter) {
		for m := range minutes {
			for i := range each {
				r.Refused(from(fmt.Sprintf("2001:db8::%x:%x", m, i)))
			}
			time.Sleep(time.Minute + time.Second)
		}
	})
	var all int64
	for _, p := range s.reports() {
		all += p.Refusal.Count
	}
	if all != minutes*each {
		t.Errorf("%d of %d refusals are told", all, minutes*each)
	}
	if most := 60 + 2*(minutes+2); len(s.reports()) > most {
		t.Errorf("%d reports of strangers in an hour; at most %d", len(s.reports()), most)
	}
}

func TestReportingNeverWaitsAndTellsWhatItLost(t *testing.T) {
	t.Parallel()
	s := &sink{hold: make(chan struct{})}
	const n = 5000
	reporting(t, s, func(r *audit.Reporter) {
		began := time.Now()
		for range n {
			r.Report(audit.Report{Action: audit.SignedIn, Principal: "proxy:mei"})
			r.Refused(from("192.0.2.7"))
		}
		if took := time.Since(began); took != 0 { // of the bubble: it stands still unless somebody waits
			t.Errorf("reporting took %s while nobody takes reports", took)
		}
		close(s.hold)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if r.Lost() < n-2000 || r.Lost() >= n {
			t.Errorf("%d are lost", r.Lost())
		}
	})
	told := int64(0)
	for _, p := range s.reports() {
		if p.Action == audit.SignedIn {
			told++
		}
	}
	if told+s.lost() != n {
		t.Errorf("%d reports arrived and %d are told as lost, of %d", told, s.lost(), n)
	}
}

func TestAReportWaitsForABrokerForAWhile(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"nobody answers": ask.ErrUnavailable, "too many": ask.Refuse(ask.CodeQuota, "later")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sink{fail: err}
			reporting(t, s, func(r *audit.Reporter) {
				r.Report(audit.Report{Action: audit.SignedIn})
				time.Sleep(10 * time.Second)
				synctest.Wait()
				s.fails(nil)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if len(s.reports()) != 1 || r.Lost() != 0 {
					t.Errorf("%d arrived, %d lost", len(s.reports()), r.Lost())
				}
				s.fails(err)
				r.Report(audit.Report{Action: audit.SignedIn})
				time.Sleep(17 * time.Second)
				synctest.Wait()
				if r.Lost() != 1 {
					t.Errorf("%d lost after a quarter of a minute", r.Lost())
				}
				s.fails(nil)
				time.Sleep(30 * time.Second)
			})
			if s.lost() != 1 {
				t.Errorf("%d are told as lost", s.lost())
			}
		})
	}
}

func TestARefusedReportIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := &sink{fail: ask.Refuse(ask.CodeForbidden, "the role slack may not report")}
	reporting(t, s, func(r *audit.Reporter) {
		r.Report(audit.Report{Action: audit.SignedIn})
		synctest.Wait()
		if r.Lost() != 1 {
			t.Errorf("%d lost", r.Lost())
		}
	})
}

func TestANilReporterReportsNothing(t *testing.T) {
	t.Parallel()
	var r *audit.Reporter
	r.Refused(from("192.0.2.7"))
	r.Report(audit.Report{})
	if r.Lost() != 0 {
		t.Error("it has lost something")
	}
}
