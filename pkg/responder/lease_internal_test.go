package responder

import (
	"testing"
	"testing/synctest"
	"time"
)

// A process that was stopped for longer than its lease, and goes on before the
// timer of the extension fires, posts nothing.
func TestALeaseEndsBeforeAnotherReplicaHasIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lease{began: time.Now()}
		l.extended(l.began, time.Minute)
		for range 5 {
			time.Sleep(40 * time.Second)
			if l.over() {
				t.Fatal("over while it is extended")
			}
			l.extended(time.Now(), time.Minute)
		}
		time.Sleep(49 * time.Second)
		if l.over() {
			t.Error("over after 49 s of 60")
		}
		time.Sleep(time.Second)
		if !l.over() {
			t.Error("not over after 50 s of 60")
		}
	})
}
