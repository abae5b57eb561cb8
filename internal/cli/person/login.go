package person

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// Phone sends a sign-in link to a person in private, by a chat that is connected. Without one that knows them sent is
// empty; else it says where it is.
type Phone func(ctx context.Context, to ask.By, link string) (sent string, err error)

// loginFlags are the flags of "askbus login".
type loginFlags struct {
	phone, noBrowser, noChat bool
	url                      string
}

// LoginCmd is "askbus login".
func LoginCmd(a *cli.App, chats Phone) *cobra.Command {
	var w config.Web
	var f loginFlags
	cmd := &cobra.Command{
		Use: "login [URL | ID | SESSION/ID]", Short: "Print a link that signs you in at the web inbox, or sign this terminal in there", Args: cobra.MaximumNArgs(1),
		Example: "  askbus login deploy-42\n  askbus login --phone --url https://inbox.example.com\n  askbus login https://ask.example.com", ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		Long: "Prints a link to the web inbox, or to one ask in it, that signs you in as os:<user>: valid for 10 minutes, once.\n" +
			"On this machine the inbox has a host of its own below localhost. A browser that does not find it, and a program,\n" +
			"can use 127.0.0.1 in its place: --output json prints that as local_url.\n\n" +
			"With --phone it sends the link to you in private by a chat that you connected (\"askbus connect\"), and prints\n" +
			"it as a QR code for a phone's camera. A phone needs an address that it can reach: that of \"askbus up --tls\n" +
			"--http-addr 0.0.0.0:8420\" in the same network, or your own tunnel or proxy with --url, of which it checks that\n" +
			"it leads to this inbox; the inbox needs its name in ASKBUS_WEB_HOSTS. It says whether the phone will warn of\n" +
			"the certificate, with the fingerprint to compare. Browsers offer notifications and installation only over\n" +
			"HTTPS with a certificate that they trust.\n\n" +
			"With the address of a web inbox elsewhere it signs this terminal in: it opens that inbox, where you confirm,\n" +
			"and keeps a credential of yours in askbus/login.json in your configuration directory. From then on tui, next,\n" +
			"answer, status and list use that inbox's bus, in your name. \"askbus logout\" ends it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.Contains(args[0], "://") {
				return signIn(a, cmd, args[0], f.noBrowser)
			}
			if f.url != "" && !f.phone {
				return cli.Usage("--url is the address for a phone: give --phone as well")
			}
			url, err := f.inbox(cmd.Context(), a)
			if err != nil {
				return err
			}
			key, err := a.CookieKey(w)
			if err != nil {
				return err
			}
			if f.url != "" {
				if err := leads(cmd.Context(), a, key, url); err != nil {
					return err
				}
			}
			pages, err := web.PagesAt(key, url)
			if err != nil {
				return err
			}
			me := cli.LocalUser(w.Groups)
			link, err := web.LoginLink(key, pages, me, time.Now())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if err := a.WithAsk(cmd.Context(), args[0], func(_ *cli.Bus, k ask.Key) error {
					link += "&to=/ask/" + k.String()
					return nil
				}); err != nil {
					return err
				}
			}
			sent := ""
			if f.phone && !f.noChat {
				if sent, err = chats(cmd.Context(), me, web.AskFirst(link)); err != nil {
					a.Note("askbus: the link could not be sent by a chat: %v", err)
				} else if sent != "" {
					a.Note("askbus: the link was sent to you in private, %s", sent)
				}
			}
			if a.JSON() {
				told := map[string]string{"url": link, "local_url": url + strings.TrimPrefix(link, pages)}
				if sent != "" {
					told["sent"] = sent
				}
				return a.TellJSON(told)
			}
			fmt.Fprintln(a.Stdout, link)
			if f.phone {
				code, err := QRCode(link)
				if err != nil {
					return err
				}
				fmt.Fprint(a.Stdout, "\n"+code)
			}
			return nil
		},
	}
	cli.Load(&w, cmd)
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false, "do not open the browser; the link is printed in any case")
	cmd.Flags().BoolVar(&f.phone, "phone", false, "send the link to you by a connected chat, and print it as a QR code for a phone's camera")
	cmd.Flags().BoolVar(&f.noChat, "no-chat", false, "with --phone: send it by no chat")
	cmd.Flags().StringVar(&f.url, "url", "", "with --phone: the https address of your tunnel or proxy, which leads to the inbox")
	return cmd
}

// inbox returns the address that a link leads to: for a phone, one that was found to be reachable.
func (f *loginFlags) inbox(ctx context.Context, a *cli.App) (string, error) {
	if f.url != "" {
		return tunnel(f.url)
	}
	url, err := a.KnownInbox()
	if err == nil && f.phone {
		err = reachable(ctx, a, url)
	}
	return url, err
}
