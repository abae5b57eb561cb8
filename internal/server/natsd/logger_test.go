package natsd

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestAStrangersCertificateSaysNothingOfTheDisk(t *testing.T) {
	t.Parallel()
	l := newLogger(slog.New(slog.DiscardHandler))
	for _, kind := range []string{"", "route "} {
		l.Errorf("192.0.2.1:4222 - rid:7 - TLS %shandshake error: tls: failed to verify certificate (CN=critical write error SHA-256: 00)", kind)
	}
	if why := l.writeFailure(); why != "" {
		t.Errorf("the store failed: %s", why)
	}
	if l.Errorf("JetStream stream '%s' critical write error: %v", "ASKS_00", "no space left on device"); l.writeFailure() == "" {
		t.Error("a write that failed is not noticed")
	}
}

func TestARebuiltStateIsNoWarning(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
	l.Warnf("Filestore [%s] TTL state is outdated; attempting to recover using linear scan (seq 1 to 1)", "ASKS_00")
	l.Warnf("Filestore [%s] Sourcing state is outdated; attempting to recover using backward scan (seq %d to %d)", "AUDIT", 1, 2)
	l.Warnf("Filestore [%s] Stream state outdated, last block has additional entries, will rebuild", "STATE")
	l.Warnf("Filestore [%s] Recovering stream state from index errored: %v", "STATE", errors.New("prior state file"))
	if said := out.String(); strings.Count(said, "level=INFO") != 4 || strings.Contains(said, "level=WARN") {
		t.Errorf("logged %q", said)
	}
	out.Reset()
	l.Warnf("Filestore [%s] Recovering stream state from index errored: %v", "STATE", errors.New("corrupt state file"))
	l.Warnf("Filestore [%s] checksum mismatch", "ASKS_01")
	if said := out.String(); strings.Count(said, "level=WARN") != 2 {
		t.Errorf("logged %q", said)
	}
}

// The alert about slow consumers sends its reader to the server's log, which names the connection; the server itself takes
// that for a notice.
func TestTheLogNamesWhoReadsTooSlowly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
	l.Noticef("%s - Slow Consumer Detected: MaxPending of %d Exceeded", `127.0.0.1:5000 - cid:7 - "responder/web"`, 64<<20)
	l.Noticef("Listening for client connections on %s", "127.0.0.1:4280")
	if said := out.String(); strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "cid:7") || strings.Contains(said, "Listening") {
		t.Errorf("logged %q", said)
	}
}

func TestAFloodOfDeniedMessagesIsAFewLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
	for range 5000 { // one persistent connection, and one attempt each of many
		l.Errorf("127.0.0.1:5000 - cid:7 - \"agent/acme/s1\" - Publish Violation - Subject %q", "herev1.write error")
	}
	for cid := range 5000 {
		l.Errorf("127.0.0.1:5000 - cid:%d - authentication error", cid+8)
	}
	l.clients.report()
	text := out.String()
	if n := strings.Count(text, "cid:7 "); n > 2*ofConnection { // a new minute may have begun
		t.Errorf("%d lines about one connection", n)
	}
	if n := strings.Count(text, "authentication error\""); n > 2*ofKind+2 {
		t.Errorf("%d lines about attempts to connect", n)
	}
	if !strings.Contains(text, `kind="publish violation" lines=49`) || !strings.Contains(text, `kind="authentication error" lines=4`) {
		t.Errorf("it does not say how many were left out:\n%s", text[max(0, len(text)-600):])
	}
	if l.writeFailure() != "" {
		t.Error("a client's text counts as a disk that failed")
	}
	l.Errorf("JetStream failed: %s", "write error: no space left")
	if l.writeFailure() == "" {
		t.Error("a disk that failed is not noticed")
	}
}

// What "askbus doctor" tries is denied on purpose. No client hides its own attempts by its name.
func TestProbesOfTheDoctorAreNoErrors(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLogger(slog.New(slog.NewTextHandler(&out, nil)))
	const who = `127.0.0.1:5000 - cid:7 - "v1.52.0:go:%s" - "BUS/agent"`
	for _, subject := range []string{"ledgerv1.doctor-probe", "ansv1.web.UA.doctor-probe.s1.wait.none"} {
		l.Errorf(who+" - Publish Violation - Subject %q", "askbus doctor as agent", subject)
	}
	if said := out.String(); said != "" {
		t.Errorf("logged %q", said)
	}
	for _, line := range []string{`ledgerv1.doctor-probes`, `a" - Subject "ledgerv1.doctor-probe`} {
		l.Errorf(who+" - Publish Violation - Subject %q", "x", line)
	}
	l.Errorf(`127.0.0.1:5000 - cid:8 - %q - "BUS/agent" - Publish Violation - Subject %q`, `Publish Violation - Subject "ledgerv1.doctor-probe"`, "ledgerv1.acme")
	if n := strings.Count(out.String(), "level=ERROR"); n != 3 {
		t.Errorf("%d errors: %s", n, out.String())
	}
}
