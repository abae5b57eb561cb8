package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// page is the data of the layout: the list of pending asks and one ask in
// focus.
type page struct {
	frame
	Title   string
	Me      string
	Person  string // their principal
	Here    string // the listing in URLs of this page
	Tools   toolbar
	Turn    *turn       // above the ask in focus, while it is pending
	NoFocus *emptyFocus // why nothing is in focus
	Done    *card.End   // what this person has just done
	Moved   *moved      // what this person has just snoozed or handed over
	Ask     *askView    // nil: nothing is in focus
	Today   string      // with nothing at all waiting: what this person has done today
	Now     string
	Beat    int64  // interval of the stream's heartbeats, in ms
	Undo    int64  // how long answers are held, in ms
	Login   string // the command that signs in
	Ways    bool   // /login has other sign-in methods
	First   string // the command that asks
	Setup   bool   // this person may take the first steps here
	PushKey string // for push subscriptions; empty: push is off
}

// entry is one row of the list.
type entry struct {
	card.Row
	Version string // names its content
	Path    string
	Current bool
	Group   string   // heading above it; empty: same group as the row above
	Others  []string // other people who have it open
	Handed  string   // person to whom it is handed
	Off     *card.Moment
}

// askView is one ask in focus: its card, and the form around it.
type askView struct {
	*card.Card
	Path        string
	Me          string // the principal for whom it is drawn
	Onward      string // URL query of its forms: where to continue
	Context     template.HTML
	ContextText string
	ContextOpen bool // shown without a request
	Permits     bool // the context is what a person permits
	Questions   []questionView
	ReadOnly    string // why this person cannot answer

	AnswerID     string
	Response     string
	OpenResponse bool
	Reason       string
	Problem      string // why the form was returned
	Told         string // what became of the vote that was just sent
	Destroys     string // the destructive options that were chosen and need a second click
	Confirm      string // names them in the form
	Kept         bool   // the form has submitted values, which a draft must not replace
	Closed       bool   // the form is still shown, but the ask has ended
	Why          string // the reason of break-glass, as it was typed
	AloneID      string // the answer id of break-glass: a vote's is another one
	Alone        string // what was chosen in the form of break-glass
}

func askPath(k ask.Key) string { return "/ask/" + k.String() }

// viewer returns the presentation options of a viewer of this inbox.
func viewer(me board.Viewer) card.Viewer {
	return card.Viewer{By: me.By, Access: me.Access, Linked: me.Linked, StandIns: me.StandIns, Surface: "web", Lang: me.Language, Zone: me.Zone}
}

// say returns a message in the viewer's language.
func say(me board.Viewer, text string, args ...any) string {
	return lang.Of(me.Language).Say(text, args...)
}

// newPage returns the page for one ask in focus, or none.
func (s *Server) newPage(ctx context.Context, me board.Viewer, focus *ask.Key, at listing) page {
	p := page{
		frame: s.newFrame(ctx, me, at, !at.part, nil),
		Me:    cmp.Or(me.By.Name, me.By.Principal), Person: me.By.Principal, Now: card.Moment{At: s.opts.Now()}.Stamp(), Beat: s.opts.Heartbeat.Milliseconds(), Undo: s.opts.Undo.Milliseconds(), PushKey: s.pushKey(),
		Login: s.command("login"), Ways: s.opts.Provider != nil || s.opts.Passkeys != nil && s.opts.Passkeys.Any(), First: s.command("ask"),
	}
	p.Here = p.Query
	if !at.part {
		p.Tools = s.newToolbar(me, p.at, p.Views)
	}
	for i := range p.List {
		p.List[i].Current = focus != nil && *focus == p.List[i].Key
	}
	return p
}

// newAsk returns the view of one ask for a person, with submitted values.
func (s *Server) newAsk(ctx context.Context, r *ask.Record, me board.Viewer, form typed, faults []ask.Fault) *askView {
	view := card.New(r, viewer(me), s.opts.Now())
	form, alone := form.apart()
	v := &askView{
		Card: view, Path: askPath(view.Key), Me: me.By.Principal, Context: s.context(ctx, me, view.Context),
		AnswerID: rand.Text(), Response: form.get(fieldResponse), Reason: form.get(fieldReason), Kept: form.values != nil, Why: alone.get(fieldWhy), AloneID: rand.Text(),
	}
	if view.Context != nil {
		v.ContextText = view.Context.Body
	}
	v.ContextOpen, v.Permits = view.End == nil && card.OpensContext(&r.Ask), card.Delicate(&r.Ask)
	if view.End == nil {
		v.ReadOnly = view.May.Why
	}
	v.Closed = view.End != nil && v.Kept
	again, known := view.Faults(faults), 0
	for i := range view.Questions {
		q := s.newQuestion(ctx, me, &view.Questions[i], form, again)
		v.Alone = cmp.Or(v.Alone, alone.get(q.Field))
		if view.Approval != nil {
			q.NoteLabel, q.NoteHint = view.Approval.Note, view.Approval.Reason
		}
		q.Invalid = q.Fault != "" && !slices.ContainsFunc(faults, ofReason)
		if !q.Unknown {
			known++
		}
		v.Questions = append(v.Questions, q)
	}
	v.OpenResponse = v.Response != "" || known < len(v.Questions)
	return v
}

// ofReason reports whether a fault is of a vote's reason, which is the note of the answer.
func ofReason(f ask.Fault) bool {
	return f.Code == ask.FaultNoReason || f.Code == ask.FaultReasonMismatch
}

// html renders a body: prose as Markdown, layout with all its spaces.
func (s *Server) html(ctx context.Context, me board.Viewer, p *card.Preview) template.HTML {
	switch {
	case p == nil:
		return ""
	case p.Kind == card.Layout && p.Diff():
		return s.md.diff(ctx, p.Body)
	case p.Kind == card.Layout:
		return asItIs(p.Body)
	}
	drawn := s.md.html(ctx, p.Body)
	if whole, cut := strings.CutSuffix(string(drawn), cutHere); cut { // cached once, for readers of every language
		return template.HTML(whole) + element("<p>… ", say(me, "cut here: the rest is too long to show."), "</p>") // as it was drawn
	}
	return drawn
}

// context renders the agent's context. Text with columns scrolls on small
// screens, and the keyboard must reach it.
func (s *Server) context(ctx context.Context, me board.Viewer, p *card.Preview) template.HTML {
	html := s.html(ctx, me, p)
	if rest, drawn := strings.CutPrefix(string(html), "<pre>"); drawn {
		return template.HTML("<pre " + focusable + ">" + rest) // as it was drawn
	}
	return html
}

// focus puts an ask in focus, with the actions above it.
func (p *page) focus(s *Server, v *askView, record *ask.Record, me board.Viewer) {
	p.Ask = v
	at := p.at
	v.Onward = at.query()
	if record.State == ask.StatePending && record.Outcome == nil && !v.Closed {
		p.Turn = s.newTurn(me, record, at, p.off)
		v.Onward = p.Turn.Query
	}
}

// emptyFocus says why nothing is in focus although the page may have a list.
type emptyFocus struct {
	Title string
	Lines []string
	To    string // URL of the button; empty: there is none
	Words string // label of the button
}

// explainEmpty says why nothing is in focus. It is nil if nothing at all is pending, or
// if the chosen ask cannot be read. So many asks are left besides those whose answers
// the page holds.
func (p *page) explainEmpty(s *Server, me board.Viewer, chosen bool, since time.Time, left int) {
	top := "/" + p.at.query()
	_, others := s.board.Pending(board.Filter{Viewer: me}, 0, 0)
	all := listing{show: showAll}
	switch {
	case chosen:
	case p.Total > 0 && left == 0:
		p.NoFocus = &emptyFocus{say(me, "Nothing else waits for you"), []string{say(me, "What you answered is sent in a few seconds. New asks appear here by themselves.")}, "", ""}
	case !since.IsZero() && p.Total > 0:
		p.Here = p.at.with(url.Values{fieldSince: {strconv.FormatInt(since.UnixMilli(), 10)}})
		p.NoFocus = &emptyFocus{say(me, "That was the last one"), []string{say(me, "The asks that you skipped are still in the list. New asks appear here by themselves.")}, top, say(me, "From the top")}
	case p.Total > 0:
		p.NoFocus = &emptyFocus{say(me, "Nothing is left for you to read"), []string{say(me, "Somebody has each waiting ask open; the list shows who. An ask that nobody reads appears here by itself, an urgent one always.")}, "", ""}
	case p.at.show == showSnoozed:
		p.NoFocus = &emptyFocus{say(me, "Nothing is snoozed"), []string{say(me, "Press h on an ask to snooze it. It comes back by itself.")}, "/", say(me, "To the waiting asks")}
	case p.at.narrowed():
		p.NoFocus = &emptyFocus{say(me, "Nothing matches"), []string{say(me, "No waiting ask matches this search and these filters.")}, p.at.clear(), say(me, "Clear them")}
	case others > 0 && p.at.show != showAll:
		lines := []string{say(me, "The waiting asks are for others to decide.")}
		if len(p.off) > 0 {
			lines = []string{say(me, "The waiting asks are for others to decide, or you snoozed them.")}
		}
		p.NoFocus = &emptyFocus{say(me, "Nothing waits for you"), lines, "/" + all.query(), say(me, "View it anyway")}
	}
}
