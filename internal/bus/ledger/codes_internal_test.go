package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// reviewed is the highest code that was reviewed.
const reviewed = 10228

// Every code of nats-server was reviewed: codes for which a retry helps are
// temporary, and askbus's clients do retry.
func TestEveryCodeOfJetStreamIsKnown(t *testing.T) {
	t.Parallel()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/nats-io/nats-server/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "server", "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Constant    string `json:"constant"`
		Description string `json:"description"`
		Code        int    `json:"code"`
		ErrorCode   int    `json:"error_code"`
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all) < 200 {
		t.Fatalf("%d codes, %v", len(all), err)
	}
	known := map[int]bool{}
	for _, e := range all {
		known[e.ErrorCode] = true
		m, listed := meanings[e.ErrorCode]
		switch {
		case e.ErrorCode > reviewed:
			t.Errorf("%d %s (%d) is new: %s", e.ErrorCode, e.Constant, e.Code, e.Description)
		case !listed && e.Code != 400 && e.Code != 404:
			t.Errorf("%d %s (%d) is not in the table: %s", e.ErrorCode, e.Constant, e.Code, e.Description)
		case strings.Contains(e.Description, "temporarily") && m != temporary:
			t.Errorf("%d %s calls itself temporary: %s", e.ErrorCode, e.Constant, e.Description)
		}
		for _, err := range []error{&apiError{Code: e.Code, ErrCode: e.ErrorCode}, &jetstream.APIError{Code: e.Code, ErrorCode: jetstream.ErrorCode(e.ErrorCode)}} {
			if IsTemporary(fmt.Errorf("ledger: %w", err)) != (m != permanent) {
				t.Errorf("%d %s: temporary is %v", e.ErrorCode, e.Constant, m != permanent)
			}
		}
	}
	for code := range meanings {
		if !known[code] {
			t.Errorf("nats-server has no code %d", code)
		}
	}
	if IsTemporary(errors.New("a bug")) || IsTemporary(nil) {
		t.Error("a permanent error is temporary")
	}
}

// Nobody who reads only JetStream's words knows whose limit it is.
func TestALimitOfTheAccountSaysWhereToRaiseIt(t *testing.T) {
	t.Parallel()
	for code, limited := range map[jetstream.ErrorCode]bool{codeMostStreams: true, codeBytesRequired: true, codeNoTier: true, codeStorageExceeded: true, 10052: false} {
		if err := notCreated("FILES", &jetstream.APIError{ErrorCode: code, Description: "words"}); strings.Contains(err.Error(), "in the JWT of the account LEDGER") != limited || !strings.Contains(err.Error(), "create stream FILES: nats: API error") {
			t.Errorf("%d: %v", code, err)
		}
	}
}
