package httpserver_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// slowClient notes until when it is waited for.
type slowClient struct {
	*httptest.ResponseRecorder
	until, written time.Time
}

func (c *slowClient) SetWriteDeadline(at time.Time) error {
	c.until = at
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	c.written = c.until
	return c.ResponseRecorder.Write(p)
}

// A client that does not read a file is not waited for without end, and the next response on its connection has a time of
// its own.
func TestAFileIsSentWithinATime(t *testing.T) {
	t.Parallel()
	c := &slowClient{ResponseRecorder: httptest.NewRecorder()}
	httpserver.SendFile(c, &ask.File{MediaType: ask.MediaText}, []byte("plan"))
	if c.written.IsZero() || !c.until.IsZero() || c.Body.String() != "plan" {
		t.Errorf("written until %s, then until %s: %q", c.written, c.until, c.Body)
	}
}
