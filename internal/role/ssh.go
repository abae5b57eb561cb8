package role

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/answering/picture"
	"github.com/askbus/askbus/internal/answering/sshserver"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// sshType is the responder type of the inbox over SSH.
const sshType = "ssh"

// sshAddr is the default address of "askbus ssh".
const sshAddr = "127.0.0.1:8022"

// SSHCmd is "askbus ssh".
func SSHCmd(a *cli.App) *cobra.Command {
	var s struct {
		config.SSH
		config.Listen
	}
	cmd := &cobra.Command{
		Use: "ssh", Short: "Serve the inbox over SSH to people with an authorized key", Args: cobra.NoArgs,
		Long: `Serves the inbox of "askbus tui" over SSH to people with a key in a file in the format
of authorized_keys, and nothing else: no shell, no commands, no forwarding. A key's
comment names the person, unless options before it do:

  ssh-ed25519 AAAA… mei
  principal="os:mei",groups="platform" ssh-ed25519 AAAA… Mei's phone

With --dir of an "askbus server" it derives its credential from the key there;
elsewhere set ASKBUS_CREDS (a responder's of type ssh). "askbus up --ssh-addr" serves
it, too.`,
		Example: `  askbus ssh --ssh-keys ~/.ssh/authorized_keys
  ssh -p 8022 127.0.0.1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := NewRunning(cmd.Context(), a)
			defer r.Close()
			s.SSHAddr = cmp.Or(s.SSHAddr, sshAddr)
			if err := noSSHKeys(a, s.SSH); err != nil {
				return err
			}
			nc, at, err := r.ssh(cmd.Context(), s.SSH)
			if err != nil {
				return err
			}
			return r.serve(cmd.Context(), "ssh", s.OpsAddr, connected(nc), "inbox over SSH at "+at)
		},
	}
	cli.Load(&s, cmd)
	sshFlags(&s.SSH, cmd)
	opsFlag(cmd, &s.OpsAddr)
	return cmd
}

func sshFlags(s *config.SSH, cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.SSHAddr, "ssh-addr", s.SSHAddr, "address of the inbox over SSH")
	cmd.Flags().StringVar(&s.SSHKeys, "ssh-keys", s.SSHKeys, "file of the keys that may sign in over SSH (default: authorized_keys in --dir)")
}

// sshKeys is the file of the keys, which is read at each login.
func sshKeys(a *cli.App, s config.SSH) string {
	return cmp.Or(s.SSHKeys, filepath.Join(a.Dir, "authorized_keys"))
}

// noSSHKeys says what to do about a missing file of keys; nil: it is there.
func noSSHKeys(a *cli.App, s config.SSH) error {
	if _, err := os.Stat(sshKeys(a, s)); err != nil {
		return cli.Usage("--ssh-keys: %w; put a line of authorized_keys there for each person", err)
	}
	return nil
}

// ssh serves the inbox over SSH on its own connection, with one board for all terminals. It returns
// the connection and the address.
func (r *Process) ssh(ctx context.Context, s config.SSH) (*nats.Conn, string, error) {
	keys := sshKeys(r.a, s)
	host, err := sshserver.HostKey(filepath.Join(r.a.Dir, "ssh_host_key"))
	if err != nil {
		return nil, "", err
	}
	nc, role, err := r.as(rights.Role{Name: rights.RoleResponder, Type: sshType})
	if err != nil {
		return nil, "", err
	}
	resp, err := responder.New(nc, sshType, responder.Options{Tenant: role.Tenant, Session: role.Session, Logger: r.Log, TracerProvider: r.tracing})
	if err != nil {
		return nil, "", err
	}
	board := cli.NewBoard(resp, role)
	opts := sshserver.Options{Keys: keys, Host: host, Logger: r.Log}
	if role.Session == "" { // others may not report
		opts.Refused = sshRefusals(r.reports(nc, "ssh", audit.Surface(sshType, role.Tenant)))
	}
	drafts, err := tui.OpenDrafts(filepath.Join(r.a.Dir, "drafts"))
	if err != nil {
		r.Log.Warn("what people have not sent is lost with their connection", slog.Any("error", err))
	}
	images := picture.NewDecoder()
	opts.Serve = func(ctx context.Context, t sshserver.Terminal) error {
		return r.inboxOn(ctx, t, board, resp, images, drafts)
	}
	srv, err := sshserver.New(opts)
	if err != nil {
		return nil, "", err
	}
	ln, err := listen(ctx, r.a, "ssh", s.SSHAddr, "--ssh-addr", "")
	if err != nil {
		return nil, "", err
	}
	r.Closes = append(r.Closes, func() { _ = ln.Close() })
	r.parts = append(r.parts, daemon.Part{Name: "ssh board", Run: board.Run}, daemon.Part{Name: "ssh", Run: func(ctx context.Context) error { return srv.Run(ctx, ln) }})
	return nc, ln.Addr().String(), nil
}

// inboxOn runs the inbox on the terminal of a signed-in person.
func (r *Process) inboxOn(ctx context.Context, t sshserver.Terminal, board *board.Board, resp *responder.Responder, images *picture.Decoder, drafts *tui.Drafts) error {
	if leave, err := resp.Present("", ""); err == nil {
		defer leave()
	}
	tag := r.a.Language()
	if asked := lang.Environment(func(name string) string { return t.Env[name] }); asked != "" {
		tag = lang.Of(asked).Tag
	}
	env := []string{"TERM=" + t.Term}
	for name, value := range t.Env {
		env = append(env, name+"="+value)
	}
	_, err := tui.Run(ctx, tui.Terminal{
		In: t, Out: t, Env: env, Width: t.Width, Height: t.Height, Resized: t.Resized,
	}, tui.Options{
		Source: board, Team: board, Decider: resp, By: t.By, Undo: r.a.Undo, File: resp.File, Images: images, Drafts: drafts,
		Viewer: card.Viewer{By: t.By, StandIns: board.StandIns, Surface: sshType, Inbox: r.a.InboxURL(), Lang: tag}, // their time zone is not known
		Notify: func(n int) string { return cli.Notification(tag, n) },
	}, tui.Board(board))
	if err == nil && ctx.Err() != nil {
		return errors.New(cli.Stopping(tag))
	}
	return err
}
