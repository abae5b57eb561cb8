package agent

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestAHookNoticesThatNobodyReadsItsOutput(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if unread(w) {
		t.Error("a pipe with a reader has none")
	}
	ctx, cancel := withHost(t.Context(), w, gone)
	defer cancel()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), gone) {
		t.Errorf("it ends with %v", context.Cause(ctx))
	}
}
