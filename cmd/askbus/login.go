package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

func (a *app) loginCmd() *cobra.Command {
	var w config.Web
	var phone, noBrowser bool
	cmd := &cobra.Command{
		Use: "login [URL | ID | SESSION/ID]", Short: "Print a link that signs you in at the web inbox, or sign this terminal in there", Args: cobra.MaximumNArgs(1),
		Example: "  askbus login deploy-42\n  askbus login --phone\n  askbus login https://ask.example.com", ValidArgsFunction: a.completeAsks(ask.StatePending),
		Long: "Prints a link to the web inbox, or to one ask in it, that signs you in as os:<user>: valid for 10 minutes, once.\n\n" +
			"With --phone it prints the link as a QR code for a phone's camera. A phone needs an address that it\n" +
			"can reach: that of \"askbus up --tls --http-addr 0.0.0.0:8420\" in the same network, or the public https://\n" +
			"address behind your proxy in ASKBUS_HTTP_URL, and its name in ASKBUS_WEB_HOSTS. Browsers offer\n" +
			"notifications and installation only over HTTPS with a certificate that they trust.\n\n" +
			"With the address of a web inbox elsewhere it signs this terminal in: it opens that inbox, where you confirm,\n" +
			"and keeps a credential of yours in askbus/login.json in your configuration directory. From then on tui, next,\n" +
			"answer, status and list use that inbox's bus, in your name. \"askbus logout\" ends it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.Contains(args[0], "://") {
				return a.signIn(cmd, args[0], noBrowser)
			}
			url, err := a.knownInbox()
			if err != nil {
				return err
			}
			if phone {
				if err := a.reachable(url); err != nil {
					return err
				}
			}
			key, err := a.cookieKey(w)
			if err != nil {
				return err
			}
			link, err := web.LoginLink(key, url, localUser(w.Groups), time.Now())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if err := a.withAsk(cmd.Context(), args[0], func(_ *bus, k ask.Key) error {
					link += "&to=/ask/" + k.String()
					return nil
				}); err != nil {
					return err
				}
			}
			if a.json() {
				return a.tellJSON(map[string]string{"url": link})
			}
			fmt.Fprintln(a.out, link)
			if phone {
				code, err := qrCode(link)
				if err != nil {
					return err
				}
				fmt.Fprint(a.out, "\n"+code)
			}
			return nil
		},
	}
	load(&w, cmd)
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "do not open the browser; the link is printed in any case")
	cmd.Flags().BoolVar(&phone, "phone", false, "also print the link as a QR code for a phone's camera")
	return cmd
}
