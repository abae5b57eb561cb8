package web_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
)

// oneCode is the terminals of an inbox in which one code counts.
type oneCode struct {
	web.Terminals
	asked atomic.Int32
}

func (o *oneCode) Redeem(_ context.Context, code, _ string) (string, error) {
	o.asked.Add(1)
	if code == "RIGHT" {
		return "askbt_secret", nil
	}
	return "", ask.Refuse(ask.CodeUnauthorized, "this code is wrong")
}

// Everybody behind a proxy has one address: a stranger's wrong codes through it
// make right ones slow, not void, and cost a bounded number of reads.
func TestWrongCodesVoidNoRightOneOfTheirAddress(t *testing.T) {
	t.Parallel()
	began, codes := time.Now(), &oneCode{}
	var later atomic.Int64
	in := serve(t, newBus(), func(o *web.Options) {
		o.Terminals, o.Now = codes, func() time.Time { return began.Add(time.Duration(later.Load())) }
	})
	redeem := func(code string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.URL+web.TerminalPath+"/token", strings.NewReader(`{"code":"`+code+`","verifier":"v"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for range 300 {
		if status := redeem("WRONG"); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
			t.Fatalf("a wrong code: status %d", status)
		}
	}
	if n := codes.asked.Load(); n < 60 || n > 60+10 {
		t.Errorf("%d of 300 wrong codes of one moment were looked up, want the 60 of an address and the 10 of all suspect ones", n)
	}
	if status := redeem("RIGHT"); status != http.StatusTooManyRequests {
		t.Errorf("a right code at the same moment: status %d", status)
	}
	later.Store(int64(200 * time.Millisecond))
	if status := redeem("RIGHT"); status != http.StatusOK {
		t.Errorf("a right code 0.2 s later: status %d", status)
	}
}
