package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
)

func TestWaitsGrowWithJitterAndAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for try := range 100 {
			began := time.Now()
			if err := backoff.Wait(t.Context(), 10*time.Millisecond, try); err != nil {
				t.Fatal(err)
			}
			mid := 10 * time.Millisecond << min(try, 5)
			if d := time.Since(began); d < mid/2 || d > mid*3/2 {
				t.Errorf("try %d waited %s", try, d)
			}
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := backoff.Wait(ctx, time.Hour, 3); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
