package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/atomicfile"
	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/push"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// roleFiles maps each role's folder to its files by name.
type roleFiles map[string]map[string][]byte

// rolesOfAll are the roles of every deployment; all others are responder types.
var rolesOfAll = []string{"broker", "gateway", "web", "test"} //nolint:gochecknoglobals // a constant list

// checkSession is the session of the deployment's self-test.
const checkSession = "deployment-test"

// authRolesCmd issues the credentials of all roles at once.
func (a *app) authRolesCmd() *cobra.Command {
	var to, kube, only string
	var types []string
	var issuer bool
	var expires time.Duration
	cmd := &cobra.Command{
		Use: "roles (--to DIR | --kubernetes PREFIX)", Short: "Make the credentials of all roles of a deployment, and the keys if there are none", Args: cobra.NoArgs,
		Example: `  askbus auth roles --dir ./keys --nats-url nats://nats:4222 --to ./creds --responder-types slack
  askbus auth roles --kubernetes askbus --nats-url nats://askbus-nats:4280`,
		Long: `Makes the keys in --dir if there are none, and a credential for each role: in a folder of
its own in --to, so that each process gets only its own, or in a Secret PREFIX-ROLE of
the pod's namespace. There the keys are in the Secret PREFIX-keys.

ROLE is broker, gateway, web (with the key of its cookies), test (an agent and a responder
of session ` + checkSession + `, for a test of the deployment), issuer with --issuer, and
each of --responder-types (push also gets the cookie key). Run it again before they
expire: it replaces the credentials and keeps the keys.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (to == "") == (kube == "") {
				return usage("give either --to or --kubernetes")
			}
			if err := broker.CheckTypes(types); err != nil {
				return usage("--responder-types: %w", err)
			}
			for _, typ := range types {
				if typ == "keys" || typ == natsd.RoleIssuer || slices.Contains(rolesOfAll, typ) {
					return usage("--responder-types: %s is a role of every deployment; give the type another name", typ)
				}
			}
			if issuer {
				types = append(types, natsd.RoleIssuer)
			}
			if kube != "" {
				return a.rolesToKubernetes(cmd.Context(), kube, types, expires)
			}
			if !natsd.HasKeys(a.Dir) {
				if _, err := natsd.Init(a.Dir); err != nil {
					return err
				}
			}
			if only != "" {
				return a.roleTo(to, only, expires)
			}
			files, err := a.roleFiles(types, "", expires)
			if err != nil {
				return err
			}
			for _, role := range slices.Sorted(maps.Keys(files)) {
				if err := writeFiles(filepath.Join(to, role), files[role]); err != nil {
					return err
				}
				a.say("askbus: %s has the credential of %s", filepath.Join(to, role), role)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "directory that gets a folder for each role")
	f.StringVar(&only, "only", "", "with --to: only this role, written to the directory itself")
	f.StringVar(&kube, "kubernetes", "", "in a pod: prefix of the Secrets' names")
	f.StringSliceVar(&types, "responder-types", nil, "responder types besides web")
	f.BoolVar(&issuer, "issuer", false, "also make the credential of \"askbus issuer\"")
	f.DurationVar(&expires, "expires", 0, "how long the credentials are valid (default: as \"askbus auth ROLE\")")
	return cmd
}

// roleTo makes the credential of one role.
func (a *app) roleTo(dir, role string, expires time.Duration) error {
	var types []string
	if !slices.Contains(rolesOfAll, role) {
		types = []string{role}
	}
	if err := broker.CheckTypes(types); err != nil {
		return usage("--only: %w", err)
	}
	files, err := a.roleFiles(types, role, expires)
	if err != nil {
		return err
	}
	if err := writeFiles(dir, files[role]); err != nil {
		return err
	}
	a.say("askbus: %s has the credential of %s", dir, role)
	return nil
}

// roleFiles makes the credentials of all roles, or only of the named one.
func (a *app) roleFiles(types []string, only string, expires time.Duration) (roleFiles, error) {
	keys, url, err := a.keys()
	if err != nil {
		return nil, err
	}
	if url == "" {
		return nil, usage("give --nats-url, where the roles will reach the server")
	}
	give := func(r natsd.Role) (c client.Credential, err error) {
		life := expires
		if life == 0 {
			life = r.Life()
		}
		given, err := keys.HandOut(url, r, r.Assertions(), life, "deployment")
		return client.Credential(a.carryTrust(given)), err
	}
	files := roleFiles{}
	for _, role := range append(slices.Clone(rolesOfAll), types...) {
		if only != "" && role != only {
			continue
		}
		if files[role], err = a.filesOf(role, give); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// filesOf makes the files of one role.
func (a *app) filesOf(role string, give func(natsd.Role) (client.Credential, error)) (map[string][]byte, error) {
	files := map[string][]byte{}
	put := func(name string, r natsd.Role) error {
		c, err := give(r)
		if err == nil {
			files[name], err = json.Marshal(c)
		}
		return err
	}
	switch role {
	case "broker":
		service, err := give(natsd.Role{Name: natsd.RoleBroker})
		if err != nil {
			return nil, err
		}
		led, err := give(natsd.Role{Name: natsd.RoleLedger})
		if err != nil {
			return nil, err
		}
		account, err := natsd.BusAccount(a.Dir)
		if err != nil {
			return nil, err
		}
		files[credsFile], err = json.Marshal(brokerCreds{service, led, account})
		return files, err
	case "gateway":
		return files, put(credsFile, natsd.Role{Name: natsd.RoleGateway})
	case natsd.RoleIssuer:
		return files, put(credsFile, natsd.Role{Name: natsd.RoleIssuer})
	case "test":
		return files, errors.Join(
			put("agent.json", natsd.Role{Name: natsd.RoleAgent, Tenant: a.Tenant, Session: checkSession}),
			put("responder.json", natsd.Role{Name: natsd.RoleResponder, Type: "test", Tenant: a.Tenant, Session: checkSession}))
	case "web", push.Type:
		key, err := natsd.LoadKey(a.Dir)
		if err != nil {
			return nil, err
		}
		files["cookie-key"] = fmt.Appendf(nil, "%x", key.Derive("web-cookie"))
	}
	return files, put(credsFile, natsd.Role{Name: natsd.RoleResponder, Type: role})
}

const credsFile = "creds.json"

// writeFiles writes the files of a folder, each atomically.
func writeFiles(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := atomicfile.Write(filepath.Join(folder, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
