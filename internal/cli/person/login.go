package person

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// LoginCmd is "askbus login".
func LoginCmd(a *cli.App) *cobra.Command {
	var w config.Web
	var phone, noBrowser bool
	cmd := &cobra.Command{
		Use: "login [URL | ID | SESSION/ID]", Short: "Print a link that signs you in at the web inbox, or sign this terminal in there", Args: cobra.MaximumNArgs(1),
		Example: "  askbus login deploy-42\n  askbus login --phone\n  askbus login https://ask.example.com", ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		Long: "Prints a link to the web inbox, or to one ask in it, that signs you in as os:<user>: valid for 10 minutes, once.\n" +
			"On this machine the inbox has a host of its own below localhost. A browser that does not find it, and a program,\n" +
			"can use 127.0.0.1 in its place: --output json prints that as local_url.\n\n" +
			"With --phone it prints the link as a QR code for a phone's camera. A phone needs an address that it\n" +
			"can reach: that of \"askbus up --tls --http-addr 0.0.0.0:8420\" in the same network, or the public https://\n" +
			"address behind your proxy or tunnel in ASKBUS_HTTP_URL, and its name in ASKBUS_WEB_HOSTS. It says whether\n" +
			"the phone will warn of the certificate, with the fingerprint to compare. Browsers offer notifications\n" +
			"and installation only over HTTPS with a certificate that they trust.\n\n" +
			"With the address of a web inbox elsewhere it signs this terminal in: it opens that inbox, where you confirm,\n" +
			"and keeps a credential of yours in askbus/login.json in your configuration directory. From then on tui, next,\n" +
			"answer, status and list use that inbox's bus, in your name. \"askbus logout\" ends it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.Contains(args[0], "://") {
				return signIn(a, cmd, args[0], noBrowser)
			}
			url, err := a.KnownInbox()
			if err != nil {
				return err
			}
			if phone {
				if err := reachable(cmd.Context(), a, url); err != nil {
					return err
				}
			}
			key, err := a.CookieKey(w)
			if err != nil {
				return err
			}
			pages, err := web.PagesAt(key, url)
			if err != nil {
				return err
			}
			link, err := web.LoginLink(key, pages, cli.LocalUser(w.Groups), time.Now())
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
			if a.JSON() {
				return a.TellJSON(map[string]string{"url": link, "local_url": url + strings.TrimPrefix(link, pages)})
			}
			fmt.Fprintln(a.Stdout, link)
			if phone {
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
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "do not open the browser; the link is printed in any case")
	cmd.Flags().BoolVar(&phone, "phone", false, "also print the link as a QR code for a phone's camera")
	return cmd
}
