package email

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/wneessen/go-mail"
)

//go:embed templates/*.html
var files embed.FS

// templates are parsed once for each language.
var templates sync.Map //nolint:gochecknoglobals // a cache

// drawIn returns the templates in a language.
func drawIn(l *lang.Language) *template.Template {
	if t, ok := templates.Load(l.Tag); ok {
		return t.(*template.Template) //nolint:forcetypeassert,errcheck // only they are stored
	}
	t := template.Must(template.New("").Funcs(functions(l)).ParseFS(files, "templates/*.html"))
	templates.Store(l.Tag, t)
	return t
}

// functions returns the template functions of a language.
func functions(l *lang.Language) template.FuncMap {
	return template.FuncMap{
		"say": l.Say, "style": func() template.CSS { return template.CSS(style) }, // a file of this package
		"body": body, "inline": inline, "clip": ask.Clip, "number": func(i int) string { return strconv.Itoa(i + 1) }, "plain": func(s string) string { return card.InlinePlain(s) },
		// Templates call no methods: these are the methods that they need.
		"head": (*card.Card).Head, "lead": lead, "urgent": card.Priority.Urgent, "names": (*letter).Names, "left": (*letter).LeftWords, "filesat": (*letter).FilesAt, "when": (*ending).When,
		"room": contextRoom, "field": form.Field, "has": form.Has, "other": form.Other, "typed": form.Text, "get": form.Get,
	}
}

// lead is the head of a card in HTML, which shows an urgent one by a badge.
func lead(c *card.Card) string {
	one := *c
	if one.Priority.Urgent() {
		one.Priority.Words = ""
	}
	return one.Head()
}

// Bounds of a mail.
const (
	maxContext     = 6_000
	maxPreview     = 3_000
	maxPermit      = 30_000 // of a permission's context; one that is longer is given on the page
	maxHTML        = 90_000 // bytes of a mail that is whole; some clients cut one of more than about 100 kB
	maxDescription = 400
	maxOptions     = 30 // of a question; the page has all
	maxButtons     = 4
	maxSubject     = 150
)

// contextRoom is how much of an ask's context a mail shows.
func contextRoom(c *card.Card) int {
	if c.Permits {
		return maxPermit
	}
	return maxContext
}

// whole reports whether a mail shows all of an ask: nobody gives a permission by a reply to one that does not.
func (d *letter) whole() bool {
	long := func(o card.Option) bool {
		return len(o.Description) > maxDescription || o.Preview != nil && utf8.RuneCountInString(o.Preview.Body) > maxPreview
	}
	var html bytes.Buffer
	err := drawIn(d.Lang).ExecuteTemplate(&html, "mail.html", d)
	return err == nil && html.Len() <= maxHTML && (d.Context == nil || utf8.RuneCountInString(d.Context.Body) <= contextRoom(d.Card)) &&
		!slices.ContainsFunc(d.Questions, func(q card.Question) bool { return slices.ContainsFunc(q.Options, long) })
}

// letter is what a mail to one address says of an ask.
type letter struct {
	*card.Card
	Lang    *lang.Language
	Person  string // empty: a list
	Page    string // where they answer; empty: nowhere
	Inbox   string // where they sign in; empty: nowhere
	Weak    string // why the page is not enough; then there is none
	Stop    string // page to get no more mail
	Reply   string // address of replies; empty: none
	Above   string // the line above which a reply is read
	Buttons []button
	Cut     bool   // not everything is in the mail
	Again   string // why it comes again; empty: it is the first
	Votes   []string
	Left    []string // files that are not attached
}

// button is a link to the page with one option chosen; the page's form sends it.
type button struct {
	Label, To   string
	Recommended bool
	Destructive bool
}

// letterTo returns what a mail to an address says of a pending ask. The links of a person's are for the ask's life.
func (s *App) letterTo(address, post string, rec *ask.Record) *letter {
	l := s.speaks(address, &rec.Ask)
	list := s.isList(address)
	d := &letter{Card: s.CardFor(s.reader(address, l), rec), Lang: l, Inbox: s.LinkTo(rec.Ask.Key()), Stop: s.stopURL(rec.Ask.Tenant, address), Reply: s.replyAddress(post, address), Above: l.Say("Reply above this line")}
	d.Votes = chat.Standing(d.Card, literal)
	if !list {
		d.Person = address
		weak := ask.By{Proof: ask.ProofEmailLink}
		switch {
		case !weak.Proves(rec.Ask.MinProof):
			d.Weak = l.Say("This question needs a sign-in: a mail proves too little.")
		case s.opts.URL != "":
			d.Page = s.opts.URL + pathPage + s.linkToken(link{Key: rec.Ask.Key(), Life: rec.Life, Address: address, Issued: s.Clock.Now(), Expires: s.expires(rec)})
		}
	}
	if mail := (ask.By{Proof: ask.ProofEmail}); !mail.Proves(rec.Ask.MinProof) {
		d.Reply = ""
	}
	if d.Reply == "" { // then nothing is typed
		d.HowTo = ""
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		if len(q.Options) > maxOptions {
			q.Options, d.Cut = q.Options[:maxOptions], true
		}
		if d.Reply == "" {
			q.HowTo = ""
		}
	}
	if q := &d.Questions[0]; d.Page != "" && len(d.Questions) == 1 && q.Kind != ask.KindText && !q.Multiple && len(q.Options) > 0 && len(q.Options) <= maxButtons {
		for i := range q.Options {
			o := &q.Options[i]
			d.Buttons = append(d.Buttons, button{card.InlinePlain(o.Label), d.Page + "?o=" + strconv.Itoa(i), o.Recommended, o.Destructive})
		}
	}
	d.Cut = d.Cut || !d.whole()
	return d
}

// linkLife bounds the life of a link of an ask without a deadline.
const linkLife = 30 * 24 * time.Hour

func (s *App) expires(rec *ask.Record) time.Time {
	at, _ := rec.Deadline()
	if most := rec.AskedAt.Add(linkLife); at.IsZero() || at.After(most) {
		return most
	}
	return at
}

func (s *App) stopURL(tenant, address string) string {
	if s.opts.URL == "" {
		return ""
	}
	return s.opts.URL + pathStop + s.seal(forStop, tenant+"\n"+address)
}

func literal(text string, most int) string { return ask.Clip(ask.CleanLine(text), most) }

// Names returns a line for each file of the ask.
func (d *letter) Names() []string {
	return append(chat.FileTexts(d.Files, literal), d.optionFiles()...)
}

// optionFiles returns a line for each option's file.
func (d *letter) optionFiles() (names []string) {
	for i := range d.Questions {
		for _, o := range d.Questions[i].Options {
			if o.File != nil {
				names = append(names, literal(card.InlinePlain(o.Label), 80)+": "+chat.FileText(o.File, literal))
			}
		}
	}
	return names
}

// maxFiles bounds the files in a mail, in bytes: servers take mails of ten to twenty-five megabytes, of which files fill a
// third more than they have.
const maxFiles = 7 << 20

// attach adds an ask's files to a mail, up to a number of bytes, and names those that it leaves out.
func (s *App) attach(ctx context.Context, m *mail.Msg, d *letter, a *ask.Ask, most int64) {
	left := s.Attach(ctx, a, nil, most, func(_ context.Context, f *chat.Attached) error {
		return m.AttachReader(f.Filename(), bytes.NewReader(f.Data), mail.WithFileContentType(mail.ContentType(f.MediaType)))
	})
	for i := range left {
		d.Left = append(d.Left, literal(left[i].Label(), 160))
	}
}

// LeftWords says which files are not attached, and where they are.
func (d *letter) LeftWords() string {
	names := strings.Join(d.Left, ", ")
	switch {
	case len(d.Left) == 0:
		return ""
	case d.Page != "":
		return d.Lang.Say("Not attached, but on the page: %s", names)
	case d.Inbox != "":
		return d.Lang.Say("Not attached, but in the inbox: %s", names)
	}
	return d.Lang.Say("Not attached: %s", names)
}

// FilesAt is where the files are that are not attached; empty: nowhere that the mail knows.
func (d *letter) FilesAt() string { return cmp.Or(d.Page, d.Inbox) }

// Text returns the mail as plain text.
func (d *letter) Text() string {
	var parts []string
	if d.Reply != "" {
		parts = append(parts, "-- "+d.Above+" --")
	}
	if d.Again != "" {
		parts = append(parts, d.Again)
	}
	parts = append(parts, d.Card.Text())
	if names := d.optionFiles(); len(names) > 0 {
		parts = append(parts, strings.Join(names, "\n"))
	}
	if left := d.LeftWords(); left != "" {
		parts = append(parts, strings.TrimSpace(left+"\n"+d.FilesAt()))
	}
	add := func(label, to string) {
		if to != "" {
			parts = append(parts, label+"\n"+to)
		}
	}
	add(d.Lang.Say("Answer on this page:"), d.Page)
	if d.Weak != "" {
		parts = append(parts, d.Weak)
	}
	add(d.Lang.Say("Answer in the inbox, after signing in:"), d.Inbox)
	if d.Reply != "" {
		parts = append(parts, d.Lang.Say("Or reply to this mail, with your answer above this text."))
	}
	if d.Page != "" {
		parts = append(parts, d.Lang.Say("Anyone with this mail can answer as %s: do not forward it.", d.Person))
	}
	add(d.Lang.Say("No more mail from askbus:"), d.Stop)
	return strings.Join(parts, "\n\n") + "\n"
}

// messageID returns the id of the mail about a post to an address: the same on every replica. Part is "" for the
// question.
func (s *App) messageID(post, address, part string) string {
	_, domain, _ := strings.Cut(s.from.Address, "@")
	return fmt.Sprintf("%s.%x%s@%s", post, s.sign("message", address)[:6], part, strings.ToLower(domain))
}

// envelope makes a mail to an address with the headers that all have. Every text in a header is on one line.
func (s *App) envelope(to, post, tenant, subject string) (*mail.Msg, error) {
	m := mail.NewMsg(mail.WithEncoding(mail.EncodingQP), mail.WithNoDefaultUserAgent())
	if err := m.FromFormat(s.from.Name, s.from.Address); err != nil {
		return nil, err
	}
	if err := m.To(to); err != nil {
		return nil, &responder.PermanentError{Err: err}
	}
	if reply := s.replyAddress(post, to); reply != "" { // it also gets what cannot be delivered
		if err := m.ReplyTo(reply); err != nil {
			return nil, err
		}
		if err := m.EnvelopeFrom(reply); err != nil {
			return nil, err
		}
	}
	m.Subject(literal(subject, maxSubject))
	m.SetDateWithValue(s.Clock.Now())
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader("X-Auto-Response-Suppress", "All")
	if stop := s.stopURL(tenant, to); stop != "" && tenant != "" {
		m.SetGenHeaderPreformatted(mail.HeaderListUnsubscribe, "<"+stop+">")
		if u, err := url.Parse(stop); err == nil && u.Scheme == "https" {
			m.SetGenHeaderPreformatted(mail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
		}
	}
	return m, nil
}

// question makes the mail about a pending ask, with files of so many bytes.
func (s *App) question(ctx context.Context, to, post string, rec *ask.Record, most int64) (*mail.Msg, error) {
	d := s.letterTo(to, post, rec)
	m, err := s.envelope(to, post, rec.Ask.Tenant, s.subject(d.Lang, &rec.Ask))
	if err != nil {
		return nil, err
	}
	m.SetMessageIDWithValue(s.messageID(post, to, ""))
	if rec.Ask.Priority == ask.PriorityUrgent {
		m.SetImportance(mail.ImportanceUrgent)
	}
	s.attach(ctx, m, d, &rec.Ask, most)
	return m, s.fill(m, d.Lang, d.Text(), "mail.html", d)
}

// reminder makes the mail about a step of an ask's ladder: the question to who has not got it, else once more in its
// thread.
func (s *App) reminder(to, post string, rec *ask.Record, step int, again bool) (*mail.Msg, error) {
	d := s.letterTo(to, post, rec)
	d.Again = d.Lang.Say("Nobody has decided this yet: %s", card.Heading(&rec.Ask))
	m, err := s.envelope(to, post, rec.Ask.Tenant, d.Again)
	if err != nil {
		return nil, err
	}
	m.SetImportance(mail.ImportanceUrgent)
	m.SetMessageIDWithValue(s.messageID(post, to, stepPart(step, again)))
	if again {
		s.follows(m, to, post)
	}
	return m, s.fill(m, d.Lang, d.Text(), "mail.html", d)
}

// endPart names the mail about an outcome in its Message-ID.
const endPart = ".end"

// stepPart names the mail about a step in its Message-ID.
func stepPart(step int, again bool) string {
	if !again {
		return ""
	}
	return ".step" + strconv.Itoa(step)
}

// follows puts a mail into the thread of the first one about a post.
func (s *App) follows(m *mail.Msg, to, post string) {
	first := "<" + s.messageID(post, to, "") + ">"
	m.SetGenHeader(mail.HeaderInReplyTo, first)
	m.SetGenHeader(mail.HeaderReferences, first)
}

func (s *App) subject(l *lang.Language, a *ask.Ask) string {
	if a.Priority == ask.PriorityUrgent {
		return l.Say("Urgent: %s", card.Heading(a))
	}
	return card.Heading(a)
}

// fill sets the text of a mail, and the same as HTML.
func (s *App) fill(m *mail.Msg, l *lang.Language, text, name string, data any) error {
	var html bytes.Buffer
	if err := drawIn(l).ExecuteTemplate(&html, name, data); err != nil {
		return fmt.Errorf("draw a mail: %w", err)
	}
	m.SetBodyString(mail.TypeTextPlain, text)
	m.AddAlternativeString(mail.TypeTextHTML, html.String())
	return nil
}

// ending is what the second mail says.
type ending struct {
	chat.Summary
	Lang  *lang.Language
	Inbox string
	Stop  string
}

// outcome makes the mail that says how an ask ended, in the thread of the first.
func (s *App) outcome(to string, e *responder.Ended) (*mail.Msg, error) {
	l := s.speaks(to, &e.Ask)
	rec := ask.Record{State: ask.StateResolved, Ask: e.Ask, AskedAt: e.AskedAt, Life: e.Life, Outcome: &e.Outcome}
	d := &ending{Summary: chat.Summarize(&rec, card.New(&rec, s.reader(to, l), s.Clock.Now()), literal), Lang: l, Inbox: s.LinkTo(e.Ask.Key()), Stop: s.stopURL(e.Ask.Tenant, to)}
	m, err := s.envelope(to, e.Key, e.Ask.Tenant, "Re: "+s.subject(l, &e.Ask))
	if err != nil {
		return nil, err
	}
	m.SetMessageIDWithValue(s.messageID(e.Key, to, endPart))
	s.follows(m, to, e.Key)
	lines := []string{d.Heading, d.Verdict + d.When()}
	for _, one := range d.Lines {
		lines = append(lines, one.Question+"\n"+one.Answer)
	}
	lines = append(append(append(lines, d.Reply), d.Votes...), d.Inbox)
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	return m, s.fill(m, l, strings.Join(lines, "\n\n")+"\n", "outcome.html", d)
}

// When says when and where an ask ended.
func (d *ending) When() string {
	var when strings.Builder
	for _, part := range d.Beside() {
		when.WriteString(d.Lang.Say(" · ") + part)
	}
	return when.String()
}
