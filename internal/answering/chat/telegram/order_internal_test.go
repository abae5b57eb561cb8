package telegram

import (
	"testing"
	"time"
)

// A few outcomes go before the messages of newer asks, however many end.
func TestAFewOutcomesGoFirst(t *testing.T) {
	t.Parallel()
	s, at := &App{}, time.Now()
	var ends []func()
	for n := range endingFirst + 2 {
		order, done := s.order(at)
		ends = append(ends, done)
		if first := order.Equal(at.Add(headStart)); first != (n < endingFirst) || !first && !order.Equal(at) {
			t.Errorf("outcome %d is ordered by %s", n, order.Sub(at))
		}
	}
	for _, done := range ends {
		done()
	}
	if order, _ := s.order(at); !order.After(at) {
		t.Error("a later outcome does not go first")
	}
}
