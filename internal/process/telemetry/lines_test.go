package telemetry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/process/telemetry"
)

// However often strangers cause an error, the log has 200 lines of it in a
// minute, and how many more there were. Other messages are not affected.
// locked is a buffer that a timer may write to.
type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b) //nolint:wrapcheck // never an error
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

func (l *locked) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Buffer.Reset()
}

func TestLinesOfOneMessageAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out locked
		log := slog.New(telemetry.Bounded(slog.NewTextHandler(&out, nil)))
		for range 4031 {
			log.With(slog.String("role", "gateway")).Error("tokens of another issuer cannot be checked")
		}
		log.Error("another")
		for range 1000 {
			log.Info("answered")
		}
		for text, want := range map[string]int{"cannot be checked": 200, "another": 201, "answered": 1000} {
			if n := strings.Count(out.String(), text); n != want {
				t.Errorf("%d lines with %q, want %d", n, text, want)
			}
		}
		out.Reset()
		time.Sleep(time.Minute) // of the test's clock
		synctest.Wait()
		if s := out.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, `message="tokens of another issuer cannot be checked" lines=3831`) {
			t.Errorf("a minute later the log says %q", s)
		}
		log.Error("tokens of another issuer cannot be checked")
		if n := strings.Count(out.String(), "level=ERROR"); n != 1 {
			t.Errorf("in the next minute it has %d lines", n)
		}
	})
}
