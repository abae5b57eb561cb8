package ledger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// While the servers chose a leader, one request without a reply took the two minutes of
// "askbus doctor", and then it found no broker either.
func TestAnInspectionRepeatsARequestWithoutAReply(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			lost  int // requests without a reply
			tries int
			want  error
		}{{0, 1, nil}, {2, 3, nil}, {100, inspectTries, context.DeadlineExceeded}} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			tries := 0
			_, err := eachTry(ctx, func(ctx context.Context) (struct{}, error) {
				if tries++; tries > c.lost {
					return struct{}{}, nil
				}
				<-ctx.Done()
				return struct{}{}, ctx.Err()
			})
			if !errors.Is(err, c.want) || tries != c.tries || ctx.Err() != nil {
				t.Errorf("%d without a reply: %d tries, %v, want %d, %v", c.lost, tries, err, c.tries, c.want)
			}
			cancel()
		}
		refused := errors.New("refused")
		tries := 0
		if _, err := eachTry(t.Context(), func(context.Context) (int, error) { tries++; return 0, refused }); !errors.Is(err, refused) || tries != 1 {
			t.Errorf("a refusal was tried %d times: %v", tries, err)
		}
	})
}
