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
			{Name: "PASSWORD", What: "password at the mail server", Text: &c.Password, File: &c.PasswordFile, Unneeded: func() bool { return !email.SignsIn(c.SMTP) }},
			{Name: "KEY", What: "key that signs links", Text: &c.Key, File: &c.KeyFile},
		},
		OwnKey: &c.Key, Unasked: []string{"KEY"},
		ConnectLong: `Asks for your mail server, such as smtp://ask@smtp.example.com, the sender of the mails and the password,
and mails you a code to enter here. The mails lead to a page, at an address that your phone must reach; without
one (ASKBUS_EMAIL_INBOX or ASKBUS_EMAIL_REPLY instead) it asks for none. See docs/email.md.`,
		PublicURL: &c.URL, PublicName: "URL", PublicPlain: true, PublicWhat: "address at which your phone reaches askbus",
		PublicWhy:      "the mails lead to pages, /email/…, at an address that you open on your phone",
		PublicUnneeded: func() bool { return c.URL == "" && (c.Inbox != "" || c.Reply != "") },
		Questions: []chatQuestion{
			{"SMTP", "mail server (smtp://user@host for STARTTLS, smtps://user@host)", &c.SMTP},
			{"FROM", "sender of the mails (askbus <ask@example.com>)", &c.From},
		},
		Place: &c.To, PlaceFlag: "to", PlaceUsage: "address for all asks, without a routing file", PlaceIsPerson: true, Posting: &c.Posting, HTTPAddr: &c.HTTPAddr,
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
			return email.New(bus, opts)
		},
	}
}
