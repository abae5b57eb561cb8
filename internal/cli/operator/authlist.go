package operator

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/spf13/cobra"
)

func authListCmd(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the issued credentials", Args: cobra.NoArgs, Example: "  askbus auth list --all",
		Long: `Lists the credentials issued with "askbus auth ROLE": role, key and expiry. Credentials that
processes make for themselves with the keys of --dir are valid for a day and not
listed.`,
		RunE: func(*cobra.Command, []string) error {
			list, err := rights.Issued(a.Dir)
			if err != nil {
				return err
			}
			now, shown := time.Now(), []identity.Issued{}
			for _, i := range list {
				if all || i.Revoked == nil && now.Before(i.Expires) {
					shown = append(shown, i)
				}
			}
			return cli.TellList(a, map[string]any{"items": shown}, "ROLE\tKEY\tISSUED\tEXPIRES\tNOTE", shown, func(i *identity.Issued) []string {
				until := minute(i.Expires)
				switch {
				case i.Revoked != nil:
					until = "revoked " + minute(*i.Revoked)
				case now.After(i.Expires):
					until = "expired " + until
				}
				return []string{i.Name, i.Key, minute(i.Issued), until, i.Note}
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include revoked and expired ones")
	return cmd
}

func authRevokeCmd(a *cli.App) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use: "revoke {KEY | ROLE …} | --tenant T", Short: "Revoke credentials: by key, all of a role such as agent/acme/s1, or all of a tenant",
		Long: `Revokes credentials by their keys, as "askbus auth list" prints them, or all that were
issued for a role as it prints it, such as agent/acme/s1 (with its broker: broker and
ledger), or with --tenant all of a tenant. A server on --dir refuses them at once, closes
their connections within a second, and tells the other servers of its cluster, the issuer
and the brokers. For a NATS of your own print the new account with "askbus auth config".`,
		Example: "  askbus auth revoke agent/default/s1",
		RunE: func(_ *cobra.Command, args []string) error {
			if (len(args) == 0) == (tenant == "") {
				return cli.Usage("give keys or roles, or --tenant")
			}
			list, err := rights.Issued(a.Dir)
			if err != nil {
				return err
			}
			keys := ofTenant(list, tenant)
			if tenant != "" && len(keys) == 0 {
				return cli.Usage("no valid credential of tenant %q; see \"askbus auth list\"", tenant)
			}
			for _, arg := range args {
				if !strings.Contains(arg, "/") && len(arg) == 56 {
					keys = append(keys, arg)
					continue
				}
				before := len(keys)
				for _, i := range list {
					if i.Name == arg && i.Revoked == nil && time.Now().Before(i.Expires) {
						keys = append(keys, i.Key)
					}
				}
				if len(keys) == before {
					return cli.Usage("no valid credential of %q; see \"askbus auth list\"", arg)
				}
			}
			revoked, err := rights.Revoke(a.Dir, keys...)
			if err != nil {
				return err
			}
			if ran, err := cli.ReadContext(a.Dir); err == nil && len(ran.Ops) == 0 {
				a.Note("askbus: warning: no server or issuer ran on %s, so this is revoked in that copy of the keys only: revoke it by its key on a server's --dir as well, or load the new \"askbus auth config\" into your own NATS", a.Dir)
			}
			if a.JSON() {
				return a.TellJSON(map[string]any{"revoked": revoked})
			}
			for _, i := range revoked {
				fmt.Fprintf(a.Stdout, "revoked %s %s\n", i.Name, i.Key)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "revoke every credential of this tenant")
	return cmd
}

// ofTenant returns the keys of a tenant's valid credentials.
func ofTenant(list []identity.Issued, tenant string) (keys []string) {
	for _, i := range list {
		of, err := rights.ParseUser(i.Name)
		if tenant != "" && err == nil && of.Tenant == tenant && i.Revoked == nil && time.Now().Before(i.Expires) {
			keys = append(keys, i.Key)
		}
	}
	return keys
}

func authRotateCmd(a *cli.App) *cobra.Command {
	var drop bool
	cmd := &cobra.Command{
		Use: "rotate ROLE", Short: "Make a new signing key for a role; with --drop-old invalidate what the old ones signed", Args: cobra.ExactArgs(1),
		Long: `Makes a new signing key for a role, in each of its scopes. What the old keys signed stays
valid, so issue new credentials first and then run it again with --drop-old: then every
credential of that role that the old keys signed, issued or stolen, becomes invalid and its
connections are closed. Processes of --dir reconnect by themselves. Each node of a cluster
follows its own directory: copy "auth" to the others after each run.`,
		Example: `  askbus auth rotate agent
  askbus auth rotate agent --drop-old`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := rights.Rotate(a.Dir, args[0], drop); err != nil {
				return err
			}
			if storecheck.Clustered(a.Dir) {
				a.Note("askbus: only this node of the cluster knows it yet: copy %s to the directory of each other node, which follows it within a second", filepath.Join(a.Dir, "auth"))
			}
			if drop {
				a.Note("askbus: only the newest signing key of %s is valid", args[0])
			} else {
				a.Note("askbus: %s has a new signing key, and the old ones stay valid until \"askbus auth rotate %s --drop-old\"", args[0], args[0])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&drop, "drop-old", false, "invalidate everything that older keys of the role signed")
	return cmd
}

func authConfigCmd(a *cli.App) *cobra.Command {
	var leaf rights.Leaf
	var system string
	cmd := &cobra.Command{
		Use: "config", Short: "Print the part of a nats-server's configuration that accepts these credentials", Args: cobra.NoArgs,
		Example: "  askbus auth config > askbus-auth.conf\n  askbus auth config --leaf-of tls://bus.example.com:7422 > askbus-leaf.conf",
		Long: `Prints the operator, the system account and the account JWTs for the configuration of
a nats-server of your own; nothing in it is secret. It needs JetStream as well, with
sync_interval: always. After a revocation print it again and reload the servers
(nats-server --signal reload); see docs/identities.md.

A server with an operator of its own already would forget its accounts. For such a server
--system-account is its system account, and the output goes into its resolver_preload.

With --leaf-of it is for a leaf node: a nats-server without JetStream in another region or network,
whose clients reach the bus through it with the same credentials. Its own one, in the file of
--leaf-creds, is what "askbus auth leaf" prints. If a private CA signed the bus's certificate, name
its file there with --leaf-ca. All files are those of the leaf node, which need not exist here.`,
		RunE: func(*cobra.Command, []string) error {
			if (leaf.Cert == "") != (leaf.Key == "") {
				return cli.Usage("give --leaf-cert and --leaf-key together")
			}
			text, err := rights.Config(a.Dir, system)
			if len(leaf.Hub) > 0 {
				text, err = rights.LeafConfig(a.Dir, leaf)
			}
			if err != nil {
				return err
			}
			fmt.Fprint(a.Stdout, text)
			return nil
		},
	}
	cmd.Flags().StringVar(&system, "system-account", "", "public key of the system account of a server with another operator")
	cmd.Flags().StringSliceVar(&leaf.Hub, "leaf-of", nil, "URLs of the bus's servers for leaf nodes, such as tls://bus.example.com:7422")
	cmd.Flags().StringVar(&leaf.Creds, "leaf-creds", leafCreds, "with --leaf-of: file with the leaf node's credential")
	cmd.Flags().StringVar(&leaf.CA, "leaf-ca", "", "with --leaf-of: file with the CAs of the bus's certificate (default: the system's)")
	cmd.Flags().StringVar(&leaf.Cert, "leaf-cert", "", "with --leaf-of: the leaf node's certificate, for servers with --tls-client-ca-file")
	cmd.Flags().StringVar(&leaf.Key, "leaf-key", "", "with --leaf-cert: its key")
	cmd.MarkFlagsMutuallyExclusive("system-account", "leaf-of")
	return cmd
}
