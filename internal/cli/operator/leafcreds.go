package operator

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// leafCreds is the file of a leaf node's credential, beside its configuration.
const leafCreds = "leaf.creds"

// leafOf is what other regions are given to connect a leaf node: where they reach the bus, and a directory with the
// files of TLS for it.
type leafOf struct {
	hub []string
	tls string
}

// files makes the files of a leaf node, which belong into its working directory: leaf.conf, leaf.creds, and what
// leaf.conf names of ca.crt, tls.crt and tls.key.
func (l leafOf) files(a *cli.App, give func(rights.Role) (client.Credential, error)) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		if l.tls == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(l.tls, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	leaf := rights.Leaf{Hub: l.hub, Creds: leafCreds}
	if files["ca.crt"] != nil {
		leaf.CA = "ca.crt"
	}
	if (files["tls.crt"] == nil) != (files["tls.key"] == nil) {
		return nil, cli.Usage("--leaf-tls: %s has only one of tls.crt and tls.key", l.tls)
	}
	if files["tls.crt"] != nil {
		leaf.Cert, leaf.Key = "tls.crt", "tls.key"
	}
	c, err := give(rights.Role{Name: rights.RoleLeaf})
	if err != nil {
		return nil, err
	}
	conf, err := rights.LeafConfig(a.Dir, leaf)
	files[leafCreds], files["leaf.conf"] = []byte(c.Creds), []byte(conf)
	return files, err
}
