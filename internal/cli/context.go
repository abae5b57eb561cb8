package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/client"
)

// Context is what the processes and the local subcommands of one directory
// share: addresses, and the operator's credential. It is stored in
// context.json, readable by its owner only.
type Context struct {
	NATSURL string            `json:"nats_url,omitempty"`
	HTTPURL string            `json:"http_url,omitempty"`
	Ops     map[string]string `json:"ops,omitempty"` // ops URL of each role
	// InteractURL is the address without tokens, which keeps its port.
	InteractURL string `json:"interact_url,omitempty"`

	Operator *client.Credential `json:"operator,omitempty"`

	NATSCAFile     string `json:"nats_ca_file,omitempty"`     // CA of the server's certificate; empty: no TLS
	NATSServerName string `json:"nats_server_name,omitempty"` // name in the certificate, if it is not the URL's host
}

const contextFile = "context.json"

// ReadContext reads a directory's context; a missing one is empty.
func ReadContext(dir string) (Context, error) {
	path := filepath.Join(dir, contextFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Context{}, nil
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		return Context{}, fmt.Errorf("the bus in %s is another user's: %w; sign in to answer with \"askbus login URL\" and the web inbox's address, or give an address and a credential of your own with ASKBUS_NATS_URL, ASKBUS_CREDS and another --dir", dir, err)
	case err != nil:
		return Context{}, fmt.Errorf("read context: %w", err)
	}
	var c Context
	if err := json.Unmarshal(data, &c); err != nil {
		return Context{}, fmt.Errorf("%s is damaged: %w; remove it and start askbus again", path, err)
	}
	return c, nil
}

// UpdateContext changes a directory's context, one process at a time.
func UpdateContext(dir string, change func(*Context)) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	lock, err := file.Lock(filepath.Join(dir, contextFile+".lock"), true)
	if err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	defer lock.Close() //nolint:errcheck // closing the file unlocks it
	c, err := ReadContext(dir)
	if err != nil {
		c = Context{} // replace a damaged file
	}
	change(&c)
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	if err := file.Replace(filepath.Join(dir, contextFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	return nil
}

// SetOps records the address of a role's ops endpoint.
func (c *Context) SetOps(role, url string) {
	if c.Ops == nil {
		c.Ops = map[string]string{}
	}
	c.Ops[role] = url
}
