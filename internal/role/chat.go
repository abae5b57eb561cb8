package role

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/process/metrics/exposition"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/pflag"
)

// chats is the table of chats: a function for each that makes its entry with settings of its own. A new chat is a folder
// below internal/answering/chat, its settings in internal/process/config, and a line here.
func chats() []func() *chatEntry {
	return []func() *chatEntry{slackEntry, telegramEntry, teamsEntry, mattermostEntry, feishuEntry, discordEntry, emailEntry}
}

// chatEntry is all that the commands know of a chat: "askbus TYPE" with its doctor, "askbus doctor", and "askbus up".
type chatEntry struct {
	Type string // responder type, unless the settings have one of an account's own, and the command's name
	Name string // as people write it

	Short, Long, Example string // of the command
	ConnectLong          string // of "askbus connect TYPE": what to have at hand
	DoctorShort          string
	DoctorFlags          func(*pflag.FlagSet) // nil: none
	DoctorOnBus          bool                 // its doctor also reads the bus, if it can be reached

	// Settings is its group of internal/process/config, to which all pointers below lead.
	Settings any
	account  string // the responder type of a further account, by the name of its file; else that of the settings counts
	*config.Posting
	Secrets  []chatSecret
	OwnKey   *string              // one of the secrets that is derived from the directory's key if it is not set; nil: none
	Unasked  []string             // names of secrets for which "askbus connect" does not ask: the chat works without
	Place    *string              // where asks go without a routing file; its flag is PlaceFlag
	HTTPAddr *string              // address for the platform's calls; nil: it never calls
	Flags    func(*pflag.FlagSet) // further ones of the command; nil: none

	PlaceFlag, PlaceUsage string
	PlaceIsPerson         bool // not a channel

	// Over says how clicks arrive at a process that is not called, for the line that says that it runs.
	Over string
	// Listens and Called say by which way of those that the app has clicks arrive; nil: by each that it has.
	Listens, Called func() bool

	// Overrides says that the environment counts, and not the file that "askbus connect" wrote; empty: there is not both.
	Overrides string

	Questions []chatQuestion // what "askbus connect" asks for besides secrets and a place
	// PublicURL is the setting, of the variable PublicName if processes read it, with the address at which others must reach
	// this machine. PublicWhat asks for it, and PublicWhy is the beginning of a sentence that says which; nil: none is needed.
	PublicURL                         *string
	PublicName, PublicWhat, PublicWhy string
	PublicPlain                       bool        // without TLS, and in a network of one's own, is good enough
	PublicUnneeded                    func() bool // with other settings; nil: never
	// PairsByCalls reports whether a call of the platform, by its body, may say a pairing code; nil: none does.
	PairsByCalls func(body []byte) bool

	// Proof is the pattern of its proofs, which a routing file may give any principal.
	Proof string
	// Proven are further proofs that its settings need; nil: none.
	Proven func() []string

	ParseRoutes func(data []byte) (*chat.Routes, error)
	// New makes the app, without calls. Its error names the setting that is wrong. The responder is nil for a doctor.
	New func(bus *responder.Responder, o chat.Options) (chatApp, error)
}

// chatSecret is a setting that is never a flag: the arguments of a process are not secret.
type chatSecret struct {
	Name       string // of the variable without its prefix: TOKEN
	What       string // for the person who is asked for it
	Text, File *string
	Unneeded   func() bool // with other settings; nil: never
}

// chatApp is what the app of every chat has. Those of its other methods that it has are used as well: Listen (holds a
// connection to the platform), Handler (is called by it, below /TYPE/), Keep (asks who the token is for until it knows),
// Drain (waits for what continues after its acknowledgement), and Metrics; and by "askbus connect": Connect (checks
// the token, and returns who it is for), Pair and Invite.
type chatApp interface {
	Serve(ctx context.Context, opts responder.ServeOptions) error
	Ready() error
	Doctor(ctx context.Context) finding.List
}

type (
	chatListener interface {
		Listen(ctx context.Context) error
	}
	chatHandler interface{ Handler() http.Handler }
	chatKeeper  interface {
		Keep(ctx context.Context) error
	}
	chatDrainer interface{ Drain() }
	chatMetrics interface {
		Metrics(to *exposition.Scrape)
	}
)

// served returns the responder type that it serves, which is the chat's own for one of its accounts.
func (c *chatEntry) served() string { return cmp.Or(c.account, c.Posting.Type, c.Type) }

// accounts returns every chat once, and each further account of one that "askbus connect" wrote in the directory.
func accounts(dir string) (all []*chatEntry) {
	for _, entry := range chats() {
		c := entry()
		all = append(all, c)
		more, _ := fs.Glob(os.DirFS(filepath.Dir(c.chatFile(dir))), c.Type+"-*.env") // the pattern is valid
		for _, name := range more {
			c := entry()
			c.account = strings.TrimSuffix(name, ".env")
			all = append(all, c)
		}
	}
	return all
}

// checkType returns an error for a type that is none of the chat.
func (c *chatEntry) checkType() error {
	if typ := c.served(); typ != c.Type && (!ask.ValidToken(typ) || ask.SurfaceKind(typ) != c.Type) {
		return cli.Usage("invalid type %q: give %s, or for another account %s-NAME, of A-Z a-z 0-9 _ -", typ, c.Type, c.Type)
	}
	return nil
}

func (c *chatEntry) typeFlag(f *pflag.FlagSet) {
	f.StringVar(&c.Posting.Type, "type", c.Posting.Type, "responder type: another account of this chat for the same tenant needs one of its own, such as "+c.Type+"-emea")
}

// command returns what follows "askbus" or "askbus connect" in the command for this account.
func (c *chatEntry) command() string {
	if c.served() == c.Type {
		return c.Type
	}
	return c.Type + " --type " + c.served()
}

// env returns the prefix of the names of its variables.
func (c *chatEntry) env() string { return "ASKBUS_" + strings.ToUpper(c.Type) + "_" }

// app makes the app from the settings. Extend, which may be nil, completes the options.
func (c *chatEntry) app(a *cli.App, bus *responder.Responder, inbox string, extend func(*chat.Options)) (_ chatApp, err error) {
	defer func() {
		if err != nil && c.Overrides != "" {
			err = fmt.Errorf("%w; %s", err, c.Overrides)
		}
	}()
	if err := c.checkType(); err != nil {
		return nil, err
	}
	for _, s := range c.Secrets {
		text, err := cli.SecretOf(c.env()+s.Name, *s.Text, *s.File)
		if err != nil {
			return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
		if info, err := os.Stat(*s.File); err == nil && info.Mode().Perm()&0o007 != 0 {
			a.Logger().Warn("everybody on this machine can read a secret: change its mode to 0600", slog.String("file", *s.File))
		}
		*s.Text, *s.File = text, ""
	}
	if c.OwnKey != nil && *c.OwnKey == "" && a.Creds == "" { // elsewhere each replica would derive another one
		key, err := rights.LoadKey(a.Dir)
		if err != nil {
			return nil, err
		}
		*c.OwnKey = hex.EncodeToString(key.Derive(c.served()))
	}
	o := chat.Options{RouteFile: c.Routes, Digest: c.Digest, DigestPlace: c.DigestPlace, Link: askLink(inbox), Inbox: inbox, Logger: a.Logger()}
	o.Routes.Default = c.target(nil)
	if extend != nil {
		extend(&o)
	}
	app, err := c.New(bus, o)
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return app, nil
}

// listens and called report which ways of the app the settings choose.
func (c *chatEntry) listens(app chatApp) (chatListener, bool) {
	l, ok := app.(chatListener)
	return l, ok && (c.Listens == nil || c.Listens())
}

func (c *chatEntry) called(app chatApp) (chatHandler, bool) {
	h, ok := app.(chatHandler)
	return h, ok && (c.Called == nil || c.Called())
}

// placeVariable returns the variable of its place.
func (c *chatEntry) placeVariable() string { return c.env() + strings.ToUpper(c.PlaceFlag) }

// set reports whether any of its secrets is given.
func (c *chatEntry) set() bool { return c.setBy() != "" }

// setBy returns the first variable that gives one of its secrets; empty: none is given.
func (c *chatEntry) setBy() string {
	for _, s := range c.Secrets {
		switch {
		case *s.Text != "":
			return c.env() + s.Name
		case *s.File != "":
			return c.env() + s.Name + "_FILE"
		}
	}
	return ""
}

// chatInbox returns the URL of the inbox for links in chats; empty: none is known. Other machines cannot reach a loopback
// address, so it is one only if it was configured. Own is the address of an inbox in this process.
func chatInbox(a *cli.App, inbox, own string) string {
	inbox = cmp.Or(inbox, a.HTTP.URL)
	if inbox == "" {
		inbox = own
		if before, err := cli.ReadContext(a.Dir); inbox == "" && err == nil {
			inbox = before.HTTPURL
		}
		if u, err := url.Parse(inbox); err != nil || u.Hostname() == "" || httpserver.LoopbackHost(u.Host) {
			return ""
		}
	}
	return strings.TrimRight(inbox, "/")
}

// askLink returns a function for the URL at which an ask can be answered in a browser; nil without an inbox.
func askLink(inbox string) func(ask.Key) string {
	if inbox == "" {
		return nil
	}
	return func(k ask.Key) string { return inbox + "/ask/" + k.String() }
}
