package client

import (
	"fmt"
	"log/slog"

	"github.com/askbus/askbus/internal/call"
	"github.com/nats-io/nats.go"
)

// Credential is what "askbus creds" prints: how to reach the bus as somebody.
type Credential struct {
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
	InboxPrefix string `json:"inbox_prefix"`
	CredsFile   string `json:"creds_file,omitempty"` // instead of User and Password: a NATS .creds file
}

// Connect connects with a credential. The connection reconnects for ever (at
// first too with nats.RetryOnFailedConnect), and says in the log what a denied
// subject was.
func Connect(c Credential, logger *slog.Logger, opts ...nats.Option) (*nats.Conn, error) {
	nc, err := call.Connect(c.URL, c.User, c.Password, c.CredsFile, c.InboxPrefix, logger, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	return nc, nil
}
