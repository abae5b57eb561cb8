package role

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/person"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/oasdiff/yaml"
	"github.com/spf13/cobra"
)

// Limits of connecting a chat.
const (
	pairFor   = 5 * time.Minute // until the code is said
	answerFor = 2 * time.Minute // until the test question is answered
)

// What the app of a chat has for being connected. A [chatInviter] returns a link that says the code, if it is opened on
// the person's phone.
type (
	chatConnector interface {
		Connect(ctx context.Context) (name string, err error)
	}
	chatPairer interface {
		Pair(ctx context.Context, code string) (chat.Paired, error)
	}
	chatInviter interface{ Invite(code string) string }
	// chatMailer mails a code to an address: to read it is to own the address.
	chatMailer interface {
		MailCode(ctx context.Context, to, code string) (chat.Paired, error)
	}
)

// connectFlags are the flags of "askbus connect TYPE".
type connectFlags struct {
	within time.Duration
	noTest bool
}

// ConnectCmd is "askbus connect".
func ConnectCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "connect CHAT", Short: "Connect a chat, so that questions reach your phone",
		Example: "  askbus connect telegram",
		Long: `Asks for what a chat needs, checks it, pairs you with it, and writes it to files in --dir that only
you can read. "askbus up" then runs the chat in its own process, also one that runs already, and
"askbus doctor" checks it. Run it again to change the connection; to disconnect it, remove the chat's
files from the folder chats in --dir.

Secrets are asked for, or read from standard input, a line each, or from the variables of the chat
("askbus settings"); they are never flags, which others can see.`,
	}
	for _, entry := range chats() {
		cmd.AddCommand(connectChatCmd(a, entry()))
	}
	return cmd
}

func connectChatCmd(a *cli.App, c *chatEntry) *cobra.Command {
	f := connectFlags{within: pairFor}
	cmd := &cobra.Command{
		Use: c.Type, Short: "Connect " + c.Name, Args: cobra.NoArgs, Example: "  askbus connect " + c.Type,
		Long: c.ConnectLong,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.within <= 0 || f.within > pairFor {
				return cli.Usage("invalid --within %s: give at most %s", f.within, pairFor)
			}
			return runConnect(cmd.Context(), a, c, f)
		},
	}
	cli.Load(c.Settings, cmd)
	cmd.Flags().StringVar(c.Place, c.PlaceFlag, *c.Place, c.PlaceUsage+", instead of pairing")
	c.typeFlag(cmd.Flags())
	cmd.Flags().DurationVar(&f.within, "within", f.within, "how long to wait for the code")
	cmd.Flags().BoolVar(&f.noTest, "no-test", false, "ask no test question")
	if c.PublicURL != nil {
		cmd.Flags().StringVar(c.PublicURL, "address", *c.PublicURL, c.PublicWhat)
	}
	return cmd
}

func runConnect(ctx context.Context, a *cli.App, c *chatEntry, f connectFlags) error {
	if err := c.checkType(); err != nil {
		return err
	}
	if err := c.canConnect(a.Dir); err != nil { // before anything is asked
		return err
	}
	settings := config.Given(c.Settings) // such as the address of a server of one's own
	in := &asked{a: a}
	if err := c.askSettings(ctx, in, settings); err != nil {
		return err
	}
	calls := &connecting{}
	if c.PublicURL != nil && (c.PublicUnneeded == nil || !c.PublicUnneeded()) {
		if c.served() != c.Type {
			return cli.Usage("a second account of %s has to be reached at an address of its own: run it as a process, \"%s\"", c.Name, a.Hint(c.command()))
		}
		var err error
		if calls, err = c.takeCalls(ctx, a); err != nil {
			return err
		}
		defer calls.close()
		if err := c.askAddress(ctx, a, in, calls, settings); err != nil {
			return err
		}
	}
	app, err := c.app(a, nil, "", func(o *chat.Options) { o.Unplaced = true })
	if err != nil {
		return err
	}
	if h, ok := app.(chatHandler); ok && c.PairsByCalls != nil {
		to := h.Handler()
		calls.app.to.Store(&to)
	}
	name := ""
	if one, ok := app.(chatConnector); ok {
		within, cancel := context.WithTimeout(ctx, time.Minute)
		name, err = one.Connect(within)
		cancel()
		if err != nil {
			return fmt.Errorf("%s does not accept this: %w", c.Name, err)
		}
		a.Note("askbus: %s accepts it: %s", c.Name, name)
	}
	beside := map[string][]byte{}
	for _, s := range c.Secrets {
		if *s.Text != "" {
			of := c.served() + "." + strings.ToLower(s.Name)
			beside[of] = []byte(*s.Text + "\n")
			delete(settings, c.env()+s.Name)
			settings[c.env()+s.Name+"_FILE"] = of
		}
	}
	before, err := c.routedBefore(a.Dir, settings)
	if err != nil {
		return err
	}
	paired, err := c.place(ctx, a, in, app, name, f.within)
	if err != nil {
		return err
	}
	if paired != nil || before != nil {
		if beside[c.served()+".yaml"], err = c.routes(before, paired); err != nil {
			return err
		}
		if before != nil {
			to := c.target(paired)
			a.Note("askbus: the rules and people of %s stay; its default is now %s", c.routesFile(a.Dir), to.Place())
		}
		c.keep(before, settings, paired)
	} else {
		settings[c.placeVariable()] = *c.Place
	}
	wrote, err := c.connect(a.Dir, `"askbus up" reads this file, which "askbus connect `+c.command()+`" wrote.`, settings, beside)
	if err != nil {
		return err
	}
	if calls.close != nil {
		calls.close() // what comes now is the running chat's
	}
	a.Note("askbus: wrote %s, for your eyes only", strings.Join(wrote, ", "))
	return c.tryOut(ctx, a, f, paired)
}

// routesFile returns the routing file that pairing writes.
func (c *chatEntry) routesFile(dir string) string {
	return filepath.Join(dir, "chats", c.served()+".yaml")
}

// routed is the routing file that an earlier pairing wrote, and the settings beside it.
type routed struct {
	file     []byte
	routes   *chat.Routes
	settings map[string]string
}

// routedBefore returns what an earlier pairing wrote; nil: there was none, or the environment names another routing file.
func (c *chatEntry) routedBefore(dir string, settings map[string]string) (*routed, error) {
	name := c.routesFile(dir)
	before, err := c.connected(dir)
	if err != nil || before[c.env()+"ROUTES"] != name || settings[c.env()+"ROUTES"] != "" {
		return nil, err
	}
	r := routed{settings: before}
	if r.file, err = os.ReadFile(name); err == nil {
		r.routes, err = c.ParseRoutes(r.file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; fix the file or remove it", name, err)
	}
	return &r, nil
}

// routes returns a routing file that posts to the person who was paired, or to the place of the settings. They are also the
// user of this machine, who proved it by seeing the code, and by having the directory. What an earlier pairing and people
// wrote into the file stays.
func (c *chatEntry) routes(before *routed, paired *chat.Paired) ([]byte, error) {
	to, people := c.target(paired), map[string]string{}
	if paired != nil {
		people[cli.LocalUser(nil).Principal] = paired.Person
	}
	if before == nil {
		body, err := yaml.Marshal(chat.Routes{Default: to, People: people})
		return append([]byte("# Which ask goes where; \"askbus connect\" wrote this, and you may change it: docs/slack.md has all of it.\n"), body...), err
	}
	if before.routes.Default.At(to) {
		to = before.routes.Default
	}
	to.Language = before.routes.Default.Language
	return chat.WithPairing(before.file, to, people, c.ParseRoutes)
}

// keep adds to settings those of an earlier pairing that nothing replaces, and what posting to the paired person needs.
func (c *chatEntry) keep(before *routed, settings map[string]string, paired *chat.Paired) {
	if before != nil {
		for variable, value := range before.settings {
			if _, given := settings[variable]; !given && !c.secretVariable(variable) && variable != c.placeVariable() {
				settings[variable] = value
			}
		}
	}
	settings[c.env()+"ROUTES"] = c.served() + ".yaml"
	if paired != nil {
		for name, value := range paired.Settings {
			settings[c.env()+name] = value
		}
	}
}

// secretVariable reports whether a variable is that of a secret or of its file.
func (c *chatEntry) secretVariable(name string) bool {
	return slices.ContainsFunc(c.Secrets, func(s chatSecret) bool { return name == c.env()+s.Name || name == c.env()+s.Name+"_FILE" })
}

// target returns where asks go: to whom was paired, else to the place of the settings.
func (c *chatEntry) target(paired *chat.Paired) chat.Target {
	switch {
	case paired != nil:
		return paired.Target()
	case c.PlaceIsPerson:
		return chat.Target{Person: *c.Place}
	}
	return chat.Target{Channel: *c.Place}
}

// place finds out where asks go: to the place of the settings, or to whom the app pairs, or to a place that is asked for.
func (c *chatEntry) place(ctx context.Context, a *cli.App, in *asked, app chatApp, name string, within time.Duration) (*chat.Paired, error) {
	p, ok := app.(chatPairer)
	m, mails := app.(chatMailer)
	switch {
	case *c.Place != "":
		return nil, nil //nolint:nilnil // not paired
	case mails:
		return c.mailed(ctx, a, in, m, within)
	case !ok:
		words, err := in.line(ctx, c.PlaceUsage)
		if err == nil && words == "" {
			err = cli.Usage("no place to post to: give --%s", c.PlaceFlag)
		}
		*c.Place = words
		return nil, err
	}
	code := chat.NewPairingCode()
	a.Note("askbus: within %s, send this code to %s in a private message; the account that sends it is yours:\n\n    %s\n", within, name, code)
	if link, ok := app.(chatInviter); ok {
		words := "askbus: or open " + link.Invite(code) + " on your phone"
		if picture, err := person.QRCode(link.Invite(code)); err == nil && cli.IsTerminal(a.Stderr) {
			words += ":\n"
			defer a.Note("")
			fmt.Fprintln(a.Stderr, words+"\n"+picture)
		} else {
			a.Note("%s", words)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	paired, err := p.Pair(waiting, code)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("nobody sent the code within %s; run the command again", within)
	}
	if err != nil {
		return nil, err
	}
	a.Note("askbus: paired with %s (%s)", ask.CleanText(paired.Name), paired.Principal)
	return &paired, nil
}

// codeTries is how often a code from a mail may be entered.
const codeTries = 3

// mailed pairs with the person who enters the code that was mailed to their address.
func (c *chatEntry) mailed(ctx context.Context, a *cli.App, in *asked, m chatMailer, within time.Duration) (*chat.Paired, error) {
	to, err := in.line(ctx, "your address, to which a code is mailed")
	if err != nil {
		return nil, err
	}
	code := chat.NewPairingCode()
	paired, err := m.MailCode(ctx, to, code)
	if err != nil {
		return nil, err
	}
	a.Note("askbus: mailed a code to %s, which counts for %s; it may lie with the unwanted mail", paired.Name, within)
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for range codeTries {
		said, err := in.line(waiting, "code in the mail")
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return nil, fmt.Errorf("nobody entered the code within %s; run the command again", within)
		case err != nil:
			return nil, err
		case chat.SaysCode(said, code):
			a.Note("askbus: paired with %s (%s)", paired.Name, paired.Principal)
			return &paired, nil
		}
		a.Note("askbus: that is not the code")
	}
	return nil, errors.New("no code of the mail was entered; run the command again")
}

// tryOut asks a test question at the new place and nowhere else, if "askbus up" runs in the directory: then it runs the
// chat, too.
func (c *chatEntry) tryOut(ctx context.Context, a *cli.App, f connectFlags, paired *chat.Paired) error {
	here, err := cli.ReadContext(a.Dir)
	if err != nil || !served(ctx, here.Ops["up"]) {
		a.Note("askbus: start \"%s\": it runs the chat in its process (or \"%s\" beside a bus that runs)", a.Hint("up"), a.Hint(c.command()))
		return nil
	}
	if f.noTest {
		return nil
	}
	bus, err := a.Dial()
	if err != nil {
		return err
	}
	defer bus.Close()
	asks, err := bus.Session(a.Tenant, "connect")
	if err != nil {
		return err
	}
	q := ask.Ask{
		Title: "A test of " + c.Name, Agent: ask.Agent{ID: "askbus connect", Name: "askbus"}, Timeout: answerFor,
		Questions: []ask.Question{{ID: "test", Text: "Does this question reach you?", Options: []ask.Option{{ID: "yes", Label: "It does"}, {ID: "odd", Label: "It does, but something looks wrong"}}}},
	}
	to := c.target(paired)
	if paired != nil {
		q.Audience = []string{paired.Principal}
	}
	q.Metadata = map[string]any{ask.MetadataTryOut: ask.TryOut(c.served(), to.Place())}
	within, cancel := context.WithTimeout(ctx, answerFor+10*time.Second)
	defer cancel()
	a.Note("askbus: asked a test question in %s, at %s: answer it there; no other chat has it", c.Name, to.Place())
	o, err := asks.AskAndWait(within, q)
	switch {
	case err != nil && ctx.Err() != nil:
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		_, _ = asks.Withdraw(end, o.AskID, "") // it ends by itself soon
		return ctx.Err()
	case err != nil:
		return err
	case o.Status != ask.StatusAnswered:
		return fmt.Errorf("nobody answered the test question within %s; \"%s\" says what is wrong", answerFor, a.Hint("doctor"))
	}
	who := ask.CleanText(o.By.Name)
	if o.By.Responder != c.served() {
		return fmt.Errorf("%s answered the test question elsewhere (%s), so nobody knows whether it reaches people in %s; \"%s\" says what is wrong", who, ask.CleanText(o.By.Responder), c.Name, a.Hint("doctor"))
	}
	a.Note("askbus: answered by %s: %s is connected", who, c.Name)
	return nil
}
