package natstest

import (
	"errors"
	"fmt"
	"testing"
)

func TestAUseThatAnOverloadedBusRefusesIsRepeated(t *testing.T) {
	t.Parallel()
	busy := fmt.Errorf("ask: %w", &UnavailableError{Err: errors.New("status 503")})
	broken := errors.New("status 500")
	for name, results := range map[string][]error{"it succeeds": {busy, busy, nil}, "it fails": {busy, broken}} {
		calls := 0
		err := retry(t, 0, func(int) error {
			calls++
			return results[calls-1]
		})
		if want := results[len(results)-1]; calls != len(results) || !errors.Is(err, want) {
			t.Errorf("%s: %v after %d calls; want %v after %d", name, err, calls, want, len(results))
		}
	}
}
