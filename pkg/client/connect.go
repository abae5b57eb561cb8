package client

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/nats-io/nats.go"
)

// Credential says how to reach the bus and as which role: the output of "askbus
// auth --output json".
type Credential struct {
	URL         string                 `json:"url"`
	Name        string                 `json:"name,omitempty"`         // the role, such as agent/acme/s1
	InboxPrefix string                 `json:"inbox_prefix,omitempty"` // default: from the credential
	Creds       string                 `json:"creds,omitempty"`        // the text of a NATS .creds file
	CredsFile   string                 `json:"creds_file,omitempty"`   // or the path of one; read again at each reconnect
	Expires     time.Time              `json:"expires,omitzero"`       // when the server refuses it
	Renew       func() (string, error) `json:"-"`                      // returns a fresh text for Creds, called at each reconnect

	// TLS is required if the URL begins with tls:// or any of these is set.
	CA         string `json:"ca,omitempty"`          // PEM: the CAs of the server's certificate, instead of the system's
	CAFile     string `json:"ca_file,omitempty"`     // or the path of a file with them; read again at each reconnect
	ServerName string `json:"server_name,omitempty"` // the name that the certificate must have; default: the host in URL
	CertFile   string `json:"cert_file,omitempty"`   // a client certificate, for mutual TLS; read again at each reconnect
	KeyFile    string `json:"key_file,omitempty"`    // and its key; both are PEM files
}

// Connect connects with a credential. The connection reconnects for ever and
// logs denied subjects; a nil logger discards them. Further options of package
// nats override its own. The caller closes the connection.
//
// The errors are:
//   - [nats.ErrNoServers] and network errors if no server listens there,
//     unless opts hold [nats.RetryOnFailedConnect];
//   - an untyped one that says to get a fresh credential, if the server refuses
//     this one.
func Connect(c Credential, logger *slog.Logger, opts ...nats.Option) (*nats.Conn, error) {
	nc, err := connection.Connect(connection.Credential(c), logger, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	return nc, nil
}
