package web

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One person holds only their share, also while they wait for more of it, and what
// they leave is theirs again.
func TestOnePersonLeavesPlacesToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(3, 2)
		take := func(who string) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return p.take(ctx, who)
		}
		first, _ := take("os:mei")
		second, _ := take("os:mei")
		if _, err := take("os:mei"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a third place of one person: %v", err)
		}
		tom, err := take("os:tom")
		if err != nil {
			t.Fatalf("another person: %v", err)
		}
		if _, err := take("os:jo"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("more than there are: %v", err)
		}
		first()
		again, err := take("os:mei")
		if err != nil {
			t.Fatalf("a place that was left: %v", err)
		}
		for _, leave := range []func(){second, again, tom} {
			leave()
		}
		if len(p.of) != 0 || len(p.all) != 0 {
			t.Errorf("%d people and %d places are left", len(p.of), len(p.all))
		}
	})
}
