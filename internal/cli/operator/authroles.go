package operator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/push"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// roleFiles maps each role's folder to its files by name.
type roleFiles map[string]map[string][]byte

// rolesOfAll are the roles of every deployment; all others are responder types.
var rolesOfAll = []string{"broker", "gateway", "web", "test"} //nolint:gochecknoglobals // a constant list

// CheckSession is the session of the deployment's self-test.
const CheckSession = "deployment-test"

// authRolesCmd issues the credentials of all roles at once.
func authRolesCmd(a *cli.App) *cobra.Command {
	var to, kube, only, servers string
	var types, leave []string
	var issuer, backup bool
	var leaf leafOf
	var expires time.Duration
	cmd := &cobra.Command{
		Use: "roles (--to DIR | --kubernetes PREFIX)", Short: "Make the credentials of all roles of a deployment, and the keys if there are none", Args: cobra.NoArgs,
		Example: `  askbus auth roles --dir ./keys --nats-url nats://nats:4222 --to ./creds --responder-types slack
  askbus auth roles --kubernetes askbus --nats-url nats://askbus-nats:4280`,
		Long: `Makes the keys in --dir if there are none, and a credential for each role: in a folder of
its own in --to, so that each process gets only its own, or in a Secret PREFIX-ROLE of
the pod's namespace. There the keys are in the Secret PREFIX-keys.

ROLE is broker, gateway, web (with the key of its cookies), test (an agent and a responder
of session ` + CheckSession + `, for a test of the deployment), issuer with --issuer, backup with
--backup, leaf with --leaf-of (all that a nats-server of another region needs to connect as a leaf node), and each of --responder-types: TYPE, TYPE@TENANT for one tenant, or NAME=TYPE@TENANT where
several are of one type (push also gets the cookie key). Run it again before they
expire: it replaces the credentials and keeps the keys.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (to == "") == (kube == "") {
				return cli.Usage("give either --to or --kubernetes")
			}
			if servers != "" && kube == "" {
				return cli.Usage("--servers needs --kubernetes: it names a StatefulSet")
			}
			responders, err := parseResponders(types)
			if err != nil {
				return cli.Usage("--responder-types: %w", err)
			}
			types = slices.Sorted(maps.Keys(responders))
			for _, typ := range types {
				if typ == "keys" || typ == rights.RoleIssuer || typ == rights.RoleBackup || typ == rights.RoleLeaf || slices.Contains(rolesOfAll, typ) {
					return cli.Usage("--responder-types: %s is a role of every deployment; give the type another name", typ)
				}
			}
			if issuer {
				types = append(types, rights.RoleIssuer)
			}
			if backup {
				types = append(types, rights.RoleBackup)
			}
			if len(leaf.hub) > 0 {
				types = append(types, rights.RoleLeaf)
			} else if leaf.tls != "" {
				return cli.Usage("--leaf-tls needs --leaf-of: it is for leaf nodes")
			}
			if kube != "" {
				return rolesToKubernetes(cmd.Context(), a, kube, types, responders, leaf, expires, servers, leave)
			}
			if !rights.HasKeys(a.Dir) {
				if _, err := natsd.Init(a.Dir); err != nil {
					return err
				}
			}
			if only != "" {
				return roleTo(a, to, only, leaf, expires)
			}
			files, err := rolesOf(a, types, responders, leaf, "", expires)
			if err != nil {
				return err
			}
			for _, role := range slices.Sorted(maps.Keys(files)) {
				if err := writeFiles(filepath.Join(to, role), files[role]); err != nil {
					return err
				}
				a.Note("askbus: %s has the credential of %s", filepath.Join(to, role), role)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "directory that gets a folder for each role")
	f.StringVar(&only, "only", "", "with --to: only this role, written to the directory itself")
	f.StringVar(&kube, "kubernetes", "", "in a pod: prefix of the Secrets' names")
	f.StringVar(&servers, "servers", "", "with --kubernetes: StatefulSet of the servers; once one is ready the keys say so, and no other server serves an empty ledger with them")
	f.StringSliceVar(&leave, "leave", nil, "with --servers: claims whose ledger may be left behind, such as data-askbus-0")
	f.StringSliceVar(&types, "responder-types", nil, "responders besides web, as [NAME=]TYPE[@TENANT]")
	f.BoolVar(&issuer, "issuer", false, "also make the credential of \"askbus issuer\"")
	f.BoolVar(&backup, "backup", false, "also make the credential of \"askbus ledger backup\"")
	f.StringSliceVar(&leaf.hub, "leaf-of", nil, "also make a leaf node's credential and configuration: URLs where other regions reach the servers, such as tls://bus.example.com:7422")
	f.StringVar(&leaf.tls, "leaf-tls", "", "with --leaf-of: directory with ca.crt of the servers, and with tls.crt and tls.key if they ask for certificates; what is there is handed out as well")
	f.DurationVar(&expires, "expires", 0, "how long the credentials are valid (default: as \"askbus auth ROLE\")")
	return cmd
}

// roleTo makes the credential of one role.
func roleTo(a *cli.App, dir, role string, leaf leafOf, expires time.Duration) error {
	var types []string
	if !slices.Contains(rolesOfAll, role) {
		types = []string{role}
	}
	if role == rights.RoleLeaf && len(leaf.hub) == 0 {
		return cli.Usage("--only leaf needs --leaf-of: where other regions reach the servers")
	}
	if err := broker.CheckTypes(types); err != nil {
		return cli.Usage("--only: %w", err)
	}
	files, err := rolesOf(a, types, nil, leaf, role, expires)
	if err != nil {
		return err
	}
	if err := writeFiles(dir, files[role]); err != nil {
		return err
	}
	a.Note("askbus: %s has the credential of %s", dir, role)
	return nil
}

// roleFiles makes the credentials of all roles, or only of the named one.
func rolesOf(a *cli.App, types []string, responders map[string]ledger.Group, leaf leafOf, only string, expires time.Duration) (roleFiles, error) {
	keys, url, err := a.Keys()
	if err != nil {
		return nil, err
	}
	if url == "" {
		return nil, cli.Usage("give --nats-url, where the roles will reach the server")
	}
	give := func(r rights.Role) (c client.Credential, err error) {
		life := expires
		if life == 0 {
			life = r.Life()
		}
		given, err := keys.HandOut(url, r, r.Assertions(), life, "deployment")
		return client.Credential(a.CarryTrust(given)), err
	}
	files := roleFiles{}
	for _, role := range append(slices.Clone(rolesOfAll), types...) {
		if only != "" && role != only {
			continue
		}
		if role == rights.RoleLeaf {
			if files[role], err = leaf.files(a, give); err != nil {
				return nil, err
			}
			continue
		}
		g := responders[role]
		g.Type = cmp.Or(g.Type, role)
		if files[role], err = filesOf(a, role, g, give); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func filesOf(a *cli.App, role string, g ledger.Group, give func(rights.Role) (client.Credential, error)) (map[string][]byte, error) {
	files := map[string][]byte{}
	put := func(name string, r rights.Role) error {
		c, err := credsOf(a.Dir, r, give)
		if err == nil {
			files[name], err = json.Marshal(c)
		}
		return err
	}
	switch role {
	case rights.RoleBroker, rights.RoleGateway, rights.RoleIssuer, rights.RoleBackup:
		return files, put(credsFile, rights.Role{Name: role})
	case "test":
		return files, errors.Join(
			put("agent.json", rights.Role{Name: rights.RoleAgent, Tenant: a.Tenant, Session: CheckSession}),
			put("responder.json", rights.Role{Name: rights.RoleResponder, Type: "test", Tenant: a.Tenant, Session: CheckSession}))
	}
	if g.Type == "web" || g.Type == push.Type {
		key, err := rights.LoadKey(a.Dir)
		if err != nil {
			return nil, err
		}
		files["cookie-key"] = fmt.Appendf(nil, "%x", key.Derive("web-cookie"))
	}
	return files, put(credsFile, rights.Role{Name: rights.RoleResponder, Type: g.Type, Tenant: g.Tenant})
}

// parseResponders parses [NAME=]TYPE[@TENANT] of each responder, by name; NAME is TYPE by default.
func parseResponders(texts []string) (map[string]ledger.Group, error) {
	all := map[string]ledger.Group{}
	for _, text := range texts {
		name, of, named := strings.Cut(text, "=")
		if !named {
			of = text
		}
		if err := broker.CheckTypes([]string{of}); err != nil {
			return nil, err
		}
		g, _ := ledger.ParseGroup(of)
		if !named {
			name = g.Type
		}
		if _, ok := all[name]; ok || !ask.ValidToken(name) {
			return nil, fmt.Errorf("%q: give each responder a name of its own, NAME=TYPE@TENANT", text)
		}
		all[name] = g
	}
	return all, nil
}

const credsFile = "creds.json"

// writeFiles writes the files of a folder, each atomically.
func writeFiles(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := file.Replace(filepath.Join(folder, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
