package bench_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// TestATeamReadsLessInVain compares two ways on the same machine; the figures
// of a quiet one are in docs/performance.md.
func TestATeamReadsLessInVain(t *testing.T) {
	t.Parallel()
	bed, err := bench.Embedded(t.Context(), bench.Options{Dir: t.TempDir(), Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	r, err := bed.Inbox(t.Context(), bench.InboxOptions{Speed: 10, Quick: true})
	if err != nil || len(r.Runs) != 2 {
		t.Fatal(len(r.Runs), err)
	}
	top, spread := r.Runs[0], r.Runs[1]
	if top.Reads-top.InVain != 24 || spread.Reads-spread.InVain != 24 {
		t.Errorf("not every ask was decided once: %+v, %+v", top, spread)
	}
	if spread.InVain*2 > top.InVain {
		t.Errorf("from the top %d reads are wasted, spread %d", top.InVain, spread.InVain)
	}
}

// TestNothingIsDecidedByAccident is a short day; the figures of a whole one are in docs/performance.md.
func TestNothingIsDecidedByAccident(t *testing.T) {
	t.Parallel()
	bed, err := bench.Embedded(t.Context(), bench.Options{Dir: t.TempDir(), Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	r, err := bed.TeamDay(t.Context(), bench.TeamDayOptions{Asks: 24, Over: 24 * time.Second, Speed: 12})
	if err != nil {
		t.Fatal(err)
	}
	if r.Accidents != 0 || r.Talk == 0 || r.Reads-r.InVain != 24 {
		t.Errorf("%+v", r)
	}
}
