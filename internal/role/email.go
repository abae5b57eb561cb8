package role

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/email"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/pflag"
)

// emailEntry is e-mail in the table of chats.
func emailEntry() *chatEntry {
	s := &config.Email{}
	c := &s.Email
	return &chatEntry{
		Type: email.Type, Name: "e-mail", Short: "Send asks by mail, which people answer on a page or by a reply",
		Example: "  ASKBUS_EMAIL_PASSWORD_FILE=password askbus email --to mei@example.com",
		Long: `Sends a mail for each ask that nobody has answered within a few seconds, and another one in the
same thread when it has ended. Its links lead to a page on --http-addr, which a proxy must make
reachable as ASKBUS_EMAIL_URL; only the form of that page answers, so that scanners of mail do not.

With ASKBUS_EMAIL_REPLY people can also reply to the mail: your own mail server delivers these replies
to ASKBUS_EMAIL_RECEIVE, and says whether their sender is authentic. Any number of replicas.`,
		DoctorShort: "Check the mail server, the pages and replies, and name the addresses from which mails came back", DoctorOnBus: true,
		Settings: s,
		Secrets: []chatSecret{
			{"PASSWORD", "password at the mail server", &c.Password, &c.PasswordFile},
			{"KEY", "key that signs links", &c.Key, &c.KeyFile},
		},
		OwnKey: &c.Key, Unasked: []string{"KEY"},
		ConnectLong: `Checks the mail server of ASKBUS_EMAIL_SMTP with your password, sends a test question from
ASKBUS_EMAIL_FROM to the address that you give, and writes the settings. Set ASKBUS_EMAIL_URL to the
address at which the phone reaches this machine, so that the mail has a page; see docs/email.md.`,
		Place: &c.To, PlaceFlag: "to", PlaceUsage: "address for all asks, without a routing file", Routes: &c.Routes, Inbox: &c.Inbox, HTTPAddr: &c.HTTPAddr,
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.People, "people", c.People, "file of who may be written to, and who wants what")
		},
		Over: "nowhere: set ASKBUS_EMAIL_URL", Called: func() bool { return c.URL != "" },
		Proof: ask.ProofEmail + "*", ParseRoutes: email.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			opts := email.Options{
				Options: o, SMTP: c.SMTP, Password: c.Password, From: c.From, URL: c.URL, Key: []byte(c.Key), People: c.People, Delay: c.Delay,
				Reply: c.Reply, Receive: c.Receive, Servers: c.Servers, AuthServ: c.Authserv, Hops: c.Hops,
			}
			if c.CAFile != "" {
				data, err := os.ReadFile(c.CAFile)
				if opts.CAs = x509.NewCertPool(); err != nil || !opts.CAs.AppendCertsFromPEM(data) {
					return nil, errors.Join(fmt.Errorf("email: ASKBUS_EMAIL_CA_FILE: %s has no certificate in PEM", c.CAFile), err)
				}
			}
			opts.Routes.Default = chat.Target{Person: c.To} // not a list, so that its links act
			return email.New(bus, opts)
		},
	}
}
