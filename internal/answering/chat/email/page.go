package email

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// The paths of [App.Handler].
const (
	below    = "/" + Type + "/"
	pathPage = below + "ask/"
	pathStop = below + "stop/"
)

// maxForm bounds a submitted form, in bytes.
const maxForm = 256 << 10

//go:embed templates/page.css
var style string

// policy lets a page load nothing, run nothing, and send its form to this surface only.
const policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the pages to which mails lead. A GET changes nothing: only the forms do, by POST.
func (s *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathPage+"{token}", s.show)
	mux.HandleFunc("POST "+pathPage+"{token}", s.submit)
	mux.HandleFunc("GET "+pathStop+"{token}", s.askToStop)
	mux.HandleFunc("POST "+pathStop+"{token}", s.doStop)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		mux.ServeHTTP(w, r)
	})
}

// sheet is a page.
type sheet struct {
	*card.Card
	Lang    *lang.Language
	Style   string
	Title   string // of a page without an ask
	Lines   []string
	Person  string
	Problem string
	Form    form
	Sure    string // the destructive options that are to be confirmed
	Confirm string
	Inbox   string
	Stop    string // "stop" or "start": what the only button of the page does
	Votes   []string
}

func (s *App) draw(w http.ResponseWriter, r *http.Request, status int, p *sheet) {
	p.Style = style
	var page bytes.Buffer
	if err := drawIn(p.Lang).ExecuteTemplate(&page, "page.html", p); err != nil {
		s.Log.ErrorContext(r.Context(), "cannot draw a page", slog.String("error", err.Error()))
		http.Error(w, "This page cannot be drawn.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", p.Lang.Tag)
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the browser is gone
}

// visit is somebody with the link of a mail.
type visit struct {
	link
	rec  ask.Record
	by   ask.By
	lang *lang.Language
	zone *time.Location // nil: unknown
}

func (s *App) viewer(v *visit) card.Viewer {
	return card.Viewer{By: v.by, Lang: v.lang.Tag, Surface: s.Type, Zone: v.zone}
}

// visitor reads a link and its ask. If the link is not good any more, it says so and returns nil.
func (s *App) visitor(w http.ResponseWriter, r *http.Request) *visit {
	l, ok := s.parseLink(r.PathValue("token"))
	v := &visit{link: l, lang: s.speaks(l.Address, nil), zone: s.people().zone(l.Address)}
	none := func(status int, lines ...string) *visit {
		s.draw(w, r, status, &sheet{Lang: v.lang, Title: v.lang.Say("This link is not good any more"), Lines: lines})
		return nil
	}
	if !ok {
		return none(http.StatusNotFound, v.lang.Say("It is not a link that askbus has mailed, or a part of it is missing."))
	}
	rec, err := s.Bus.Get(r.Context(), l.Key)
	if err == nil && rec.Life != l.Life {
		err = ask.ErrAskedAgain
	}
	if err != nil {
		told, _ := s.viewer(v).Gone(err)
		status := http.StatusServiceUnavailable
		if errors.Is(err, ask.ErrNotFound) || errors.Is(err, ask.ErrAskedAgain) {
			status = http.StatusGone
		}
		return none(status, told)
	}
	v.rec, v.lang, v.by = rec, s.speaks(l.Address, &rec.Ask), s.by(r.Context(), l.Address, ask.ProofEmailLink, &rec.Ask)
	gone, err := s.barred(r.Context(), l.Key.Tenant, l.Address, v.by.Principal, l)
	switch {
	case err != nil:
		return none(http.StatusServiceUnavailable, v.lang.Say("askbus cannot be reached; please try again in a moment."))
	case gone:
		return none(http.StatusForbidden, v.lang.Say("An administrator has ended it. A newer mail, or the inbox, still works."))
	case rec.Outcome == nil && s.Clock.Now().After(l.Expires):
		return none(http.StatusGone, v.lang.Say("It has expired. Answer in the inbox."))
	}
	return v
}

// barred reports whether a person may not act with what they were mailed: the operator does not list their address any
// more, or has ended their sign-ins since.
func (s *App) barred(ctx context.Context, tenant, address, who string, l link) (bool, error) {
	if !s.allowed(address) {
		return true, nil
	}
	for _, one := range []string{principal(address), who} {
		if out, err := s.signedOut(ctx, tenant, one, l.Issued); out || err != nil {
			return out, err
		}
	}
	return false, nil
}

// voted reports whether the person's vote was given by mail already: a link is good for one.
func (v *visit) voted() bool {
	return slices.ContainsFunc(v.rec.Votes, func(one ask.Vote) bool {
		return one.By.Principal == v.by.Principal && one.By.Proof == ask.ProofEmailLink && one.Stands()
	})
}

// sheet returns the page of a visit with what was typed.
func (s *App) sheet(v *visit, f form) *sheet {
	c := card.New(&v.rec, s.viewer(v), s.Clock.Now())
	p := &sheet{Card: c, Lang: v.lang, Person: v.Address, Form: f, Inbox: s.LinkTo(v.Key), Votes: chat.Votes(c.Approval, literal)}
	if c.BreakGlass != nil && !c.May.Answer { // no page of a mail has it
		c.May = card.May{Why: c.BreakGlass.Elsewhere()}
	}
	for i := range c.Questions {
		if c.Questions[i].Unknown {
			c.May = card.May{Why: c.Questions[i].HowTo}
		}
	}
	if c.May.Answer && v.voted() {
		c.May = card.May{Why: v.lang.Say("Your vote is counted, and this link is used. Change it in the inbox.")}
	}
	return p
}

// show serves the page of an ask.
func (s *App) show(w http.ResponseWriter, r *http.Request) {
	v := s.visitor(w, r)
	if v == nil {
		return
	}
	f := form{url.Values{}}
	if n, err := strconv.Atoi(r.URL.Query().Get("o")); err == nil {
		f.choose(&v.rec.Ask, n)
	}
	s.draw(w, r, http.StatusOK, s.sheet(v, f))
}

// submit takes the form of an ask's page.
func (s *App) submit(w http.ResponseWriter, r *http.Request) {
	v := s.visitor(w, r)
	if v == nil {
		return
	}
	if err := r.ParseForm(); err != nil {
		p := s.sheet(v, form{url.Values{}})
		p.Problem = v.lang.Say("The form could not be read. Go back and send it again.")
		s.draw(w, r, http.StatusBadRequest, p)
		return
	}
	f := form{r.PostForm}
	if f.Get("do") == "link" {
		s.linkPage(w, r, v)
		return
	}
	p := s.sheet(v, f)
	switch {
	case v.rec.Outcome != nil:
		p.Problem = s.viewer(v).Late(&v.rec, v.rec.Outcome, s.Clock.Now())
		s.draw(w, r, http.StatusConflict, p)
		return
	case !p.May.Answer:
		s.draw(w, r, http.StatusForbidden, p)
		return
	}
	id := chat.AnswerID(Type, "page", responder.PostKey(s.Type, v.Key, v.Life), v.Address)
	var told string
	var err error
	if f.Get("do") == "decline" {
		told, err = s.Decline(r.Context(), v.lang, &v.rec, "", responder.Decline{AnswerID: id, Reason: strings.TrimSpace(f.Get("reason")), By: v.by})
	} else {
		reply, faults := f.reply(&v.rec.Ask)
		reply.AnswerID, reply.By = id, v.by
		if _, _, wrong := v.rec.Ask.Check(reply); wrong != nil && len(faults) == 0 {
			e, _ := errors.AsType[*ask.Error](wrong)
			faults = e.Faults
		}
		if len(faults) > 0 {
			p.Problem = problem(p.Faults(faults))
			s.draw(w, r, http.StatusUnprocessableEntity, p)
			return
		}
		if chosen := p.Destructive(reply.Answers); chosen != "" && f.Get("sure") != chosen {
			p.Sure = chosen
			s.draw(w, r, http.StatusOK, p)
			return
		}
		told, err = s.Answer(r.Context(), v.lang, &v.rec, "", reply)
	}
	if err == nil || errors.Is(err, ask.ErrVoted) {
		http.Redirect(w, r, r.URL.Path, http.StatusSeeOther) //nolint:gosec // the page itself, whose token was checked
		return
	}
	status := http.StatusServiceUnavailable
	switch e, _ := errors.AsType[*ask.Error](err); {
	case e != nil && e.Outcome != nil:
		status = http.StatusConflict
		v.rec.State, v.rec.Outcome = ask.StateResolved, e.Outcome
		p = s.sheet(v, f)
	case errors.Is(err, ask.ErrForbidden):
		status = http.StatusForbidden
	case errors.Is(err, ask.ErrInvalid):
		status = http.StatusUnprocessableEntity
	}
	p.Problem = told
	s.draw(w, r, status, p)
}

func problem(again []card.Again) string {
	words := make([]string, len(again))
	for i := range again {
		words[i] = again[i].Why
		if q := again[i].Question; q != nil && q.Of > 1 {
			words[i] = q.Step + ": " + words[i]
		}
	}
	return strings.Join(words, " ")
}

// stopping returns who wants no more mail of which tenant, by a link; "" if the link is not good.
func (s *App) stopping(w http.ResponseWriter, r *http.Request) (tenant, to string, l *lang.Language) {
	what, ok := s.unseal(forStop, r.PathValue("token"))
	tenant, to, _ = strings.Cut(what, "\n")
	l = s.speaks(to, nil)
	if !ok || to == "" {
		s.draw(w, r, http.StatusNotFound, &sheet{Lang: l, Title: l.Say("This link is not good any more"), Lines: []string{l.Say("It is not a link that askbus has mailed, or a part of it is missing.")}})
		return "", "", l
	}
	return tenant, to, l
}

// askToStop serves the page that stops mails to an address.
func (s *App) askToStop(w http.ResponseWriter, r *http.Request) {
	tenant, to, l := s.stopping(w, r)
	if to == "" {
		return
	}
	none, err := s.stopped(r.Context(), tenant, to)
	p := &sheet{Lang: l, Title: l.Say("No more mail from askbus"), Lines: []string{l.Say("%s gets no more questions by mail. Others still do, and nothing is answered.", to)}, Stop: "stop"}
	status := http.StatusOK
	switch {
	case err != nil:
		status, p.Lines, p.Stop = http.StatusServiceUnavailable, []string{l.Say("askbus cannot be reached; please try again in a moment.")}, ""
	case none:
		p.Lines, p.Stop = []string{l.Say("%s gets no mail from askbus.", to)}, "start"
	}
	s.draw(w, r, status, p)
}

// doStop stops mails to an address, or begins them again. A mail program may post it by itself (RFC 8058): it answers no
// question.
func (s *App) doStop(w http.ResponseWriter, r *http.Request) {
	tenant, to, l := s.stopping(w, r)
	if to == "" {
		return
	}
	none := r.PostFormValue("do") != "start"
	if err := s.stop(r.Context(), tenant, to, none); err != nil {
		s.draw(w, r, http.StatusServiceUnavailable, &sheet{Lang: l, Title: l.Say("Not stored"), Lines: []string{l.Say("askbus cannot be reached; please try again in a moment.")}})
		return
	}
	http.Redirect(w, r, r.URL.Path, http.StatusSeeOther) //nolint:gosec // the page itself, whose token was checked
}
