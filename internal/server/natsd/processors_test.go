package natsd_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/askbus/askbus/internal/server/natsd"
)

// processors is how many Go had before any test started a server.
var processors = runtime.GOMAXPROCS(0)

// Several servers in one process add one processor in all, unless the
// environment sets their number.
func TestAServerAddsOneProcessor(t *testing.T) {
	t.Parallel()
	want := processors + 1
	if os.Getenv("GOMAXPROCS") != "" {
		want = processors
	}
	for range 2 {
		s, err := natsd.Start(natsd.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("%d processors, want %d", got, want)
		}
	}
}
