package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// answer stores a person's answer. When it fails, the page that is returned
// keeps everything the person typed.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	s.submit(w, r, me, func(record *ask.Record, form typed) (send, error) {
		reply, faults := form.reply(&record.Ask, me.By)
		if _, _, err := record.Ask.Check(reply); err != nil {
			faults = merge(faults, faultsOf(err))
		}
		if len(faults) > 0 {
			return nil, ask.InvalidError("answer", faults)
		}
		if record.Ask.Approval != nil { // a held vote without its reason would be refused when another card is on the screen
			if _, err := record.Ask.VoteOf(reply); errors.Is(err, ask.ErrInvalid) {
				return nil, err
			}
		}
		if e := unconfirmed(record, me, reply); e != nil && form.get(fieldConfirm) != e.options {
			return nil, e
		}
		return func(ctx context.Context) (ask.Outcome, error) { return s.asks.Answer(ctx, record.Ask.Key(), reply) }, nil
	})
}

// decline declines the whole ask.
func (s *Server) decline(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	s.submit(w, r, me, func(record *ask.Record, form typed) (send, error) {
		d := responder.Decline{AnswerID: form.get(fieldAnswerID), Reason: strings.TrimSpace(normalLines(form.get(fieldReason))), By: me.By}
		return func(ctx context.Context) (ask.Outcome, error) { return s.asks.Cancel(ctx, record.Ask.Key(), d) }, nil
	})
}

// unconfirmedError reports that destructive options were chosen without the second click.
type unconfirmedError struct{ labels, options string }

func (e *unconfirmedError) Error() string { return e.labels }

// unconfirmed returns what a reply must confirm, or nil.
func unconfirmed(record *ask.Record, me board.Viewer, reply ask.Reply) *unconfirmedError {
	var ids []string
	for _, o := range record.Ask.Destructive(reply.Answers) {
		ids = append(ids, o.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	return &unconfirmedError{card.New(record, viewer(me), time.Now()).Destructive(reply.Answers), digest(ids...)}
}

// merge adds the faults of questions that have none yet. A question whose
// number does not parse is not also reported as missing.
func merge(faults, more []ask.Fault) []ask.Fault {
	for _, f := range more {
		if f.QuestionID == "" || !slices.ContainsFunc(faults, func(g ask.Fault) bool { return g.QuestionID == f.QuestionID }) {
			faults = append(faults, f)
		}
	}
	return faults
}

func faultsOf(err error) []ask.Fault {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e.Faults
	}
	return nil
}

// send sends a checked decision.
type send func(ctx context.Context) (ask.Outcome, error)

// drawnForAnother reports whether a form was drawn for another person, who was signed in in this browser before its
// sender.
func drawnForAnother(r *http.Request, me board.Viewer) bool {
	drawn := r.PostFormValue(fieldMe)
	return drawn != "" && drawn != me.By.Principal
}

func somebodyElse(me board.Viewer) string {
	return say(me, "Somebody else has signed in here since this page was opened. Nothing was sent. Look again, then answer.")
}

// submitted returns the ask of a form and what was typed, unless the ask has ended or was asked
// again: then it has written the response.
func (s *Server) submitted(w http.ResponseWriter, r *http.Request, me board.Viewer) (record ask.Record, form typed, ok bool) {
	if err := r.ParseForm(); err != nil {
		s.badForm(w, me, err)
		return record, form, false
	}
	form = typed{r.PostForm}
	record, err := s.record(r.Context(), me, keyOf(r))
	if err != nil {
		s.cannotRead(w, r, me, err)
		return record, form, false
	}
	if drawnForAnother(r, me) {
		s.again(r.Context(), w, r, me, &record, http.StatusConflict, somebodyElse(me))
		return record, form, false
	}
	if record.State == ask.StateResolved && record.Outcome != nil {
		s.tooLate(w, r, me, &record, form)
		return record, form, false
	}
	if life := form.get(fieldLife); life != "" && record.Life != "" && life != record.Life {
		s.again(r.Context(), w, r, me, &record, http.StatusConflict, say(me, "The agent has asked this again since this page was opened. Look again, then answer."))
		return record, form, false
	}
	return record, form, true
}

// takeBack takes the person's vote back. Somebody who may no longer vote may still do that.
func (s *Server) takeBack(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, form, ok := s.submitted(w, r, me)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	votes, err := s.asks.Unvote(ctx, record.Ask.Key(), form.get(fieldAnswerID), me.By)
	switch {
	case errors.Is(err, ask.ErrConflict) && !errors.Is(err, ask.ErrResolved):
		s.again(r.Context(), w, r, me, &record, http.StatusConflict, viewer(me).NoVote())
	case err != nil:
		s.refused(w, r, me, &record, form, err)
	default:
		s.opts.Logger.InfoContext(r.Context(), "took a vote back", slog.String("ask_id", record.Ask.ID))
		told := viewer(me).VoteTakenBack(&record, votes, s.opts.Now())
		record.Votes = votes
		s.again(r.Context(), w, r, me, &record, http.StatusOK, told)
	}
}

// submit checks a decision and sends it. A page that holds answers checks first, and sends later.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, me board.Viewer, check func(*ask.Record, typed) (send, error)) {
	record, form, ok := s.submitted(w, r, me)
	if !ok {
		return
	}
	k := record.Ask.Key()
	if !viewer(me).May(&record).Answer {
		s.notePerson(r, "answer", ask.CodeForbidden, "they may not decide this ask", me, k)
		s.redrawForm(w, r, me, &record, form, http.StatusForbidden, "", nil)
		return
	}
	send, err := check(&record, form)
	if err != nil {
		s.refused(w, r, me, &record, form, err)
		return
	}
	held := form.get(fieldHeld)
	to, undo := "", func() {}
	if held != heldSend {
		to, undo = s.onward(r, me, k)
	}
	if held == heldCheck {
		_ = s.board.Look(me, k, true) // nobody else should read it for nothing
		r = r.Clone(r.Context())
		r.Header.Set(heldHeader, r.Header.Get(heldHeader)+" "+k.String())
		s.goOn(w, r, me, withoutDone(to))
		return
	}
	// The person has decided: closing the page must not cancel the write.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	outcome, err := send(ctx)
	if err != nil {
		undo()
		if errors.Is(err, ask.ErrVoted) {
			s.opts.Logger.InfoContext(r.Context(), "voted", slog.String("ask_id", k.ID))
			told := ""
			if e, ok := errors.AsType[*ask.Error](err); ok {
				told = viewer(me).Voted(&record, e.Votes, s.opts.Now())
				record.Votes = e.Votes
			}
			s.again(r.Context(), w, r, me, &record, http.StatusOK, told)
			return
		}
		s.refused(w, r, me, &record, form, err)
		return
	}
	s.settle(record, outcome)
	s.opts.Logger.InfoContext(r.Context(), "answered", slog.String("ask_id", k.ID), slog.String("status", string(outcome.Status)))
	if held == heldSend {
		record.State, record.Outcome = ask.StateResolved, &outcome
		s.render(w, http.StatusOK, "done", card.NewEnd(&record, viewer(me), s.opts.Now()))
		return
	}
	s.goOn(w, r, me, to)
}

// withoutDone returns a path without what was just decided.
func withoutDone(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "/"
	}
	q := u.Query()
	q.Del(fieldDone)
	u.RawQuery = q.Encode()
	return u.String()
}

// goOn sends the browser to the page that follows a form, a path of this inbox.
// Scripts get that page in the response, which saves them the round trip of a
// redirect: a person 80 ms away sees the next card within 120 ms. The next ask is
// not fetched ahead, because that would tell others that somebody looks at it.
func (s *Server) goOn(w http.ResponseWriter, r *http.Request, me board.Viewer, to string) {
	next, err := url.Parse(to)
	if err != nil || !listingOf(r).part {
		http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // a path of this inbox
		return
	}
	r = r.Clone(r.Context())
	r.Method, r.URL = http.MethodGet, next
	w.Header().Set(atHeader, to)
	k, ok := ask.ParseKey(strings.TrimPrefix(next.Path, "/ask/"))
	if !ok {
		s.inbox(w, r, me)
		return
	}
	r.SetPathValue("tenant", k.Tenant)
	r.SetPathValue("session", k.Session)
	r.SetPathValue("id", k.ID)
	s.show(w, r, me)
}

// refused explains why a reply was rejected.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, me board.Viewer, record *ask.Record, form typed, err error) {
	if e, ok := errors.AsType[*unconfirmedError](err); ok {
		p := s.newPage(r.Context(), me, new(record.Ask.Key()), listingOf(r))
		p.focus(s, s.newAsk(r.Context(), record, me, form, nil), record, me)
		p.Ask.Destroys, p.Ask.Confirm = e.labels, e.options
		s.write(w, http.StatusUnprocessableEntity, p)
		return
	}
	e, _ := errors.AsType[*ask.Error](err)
	switch {
	case errors.Is(err, ask.ErrInvalid) && e != nil:
		s.redrawForm(w, r, me, record, form, http.StatusUnprocessableEntity, general(me, e), e.Faults)
	case errors.Is(err, ask.ErrResolved) && e != nil && e.Outcome != nil:
		s.settle(*record, *e.Outcome)
		record.State, record.Outcome = ask.StateResolved, e.Outcome
		s.tooLate(w, r, me, record, form)
	case errors.Is(err, ask.ErrForbidden):
		s.notePerson(r, "answer", ask.CodeForbidden, detail(err), me, record.Ask.Key())
		s.redrawForm(w, r, me, record, form, http.StatusForbidden, viewer(me).Explain(record, err, s.opts.Now()), nil)
	case errors.Is(err, ask.ErrNotFound):
		s.notFound(w, me)
	case errors.Is(err, ask.ErrTooLarge):
		s.redrawForm(w, r, me, record, form, http.StatusRequestEntityTooLarge, say(me, "This is too long for one answer. Shorten it and send again."), nil)
	default:
		s.opts.Logger.WarnContext(r.Context(), "an answer was not stored", slog.String("ask_id", record.Ask.ID), slog.Any("error", err))
		s.redrawForm(w, r, me, record, form, http.StatusServiceUnavailable,
			say(me, "Your answer could not be stored just now. Nothing is lost: send it again."), nil)
	}
}

// general returns the message of a fault that belongs to no single question.
func general(me board.Viewer, e *ask.Error) string {
	for _, f := range e.Faults {
		if f.QuestionID == "" {
			return say(me, "Not sent: %s.", f.String())
		}
	}
	if len(e.Faults) == 0 {
		return say(me, "Not sent: %s.", e.Detail)
	}
	return ""
}

// redrawForm draws the form again with everything the person typed.
func (s *Server) redrawForm(w http.ResponseWriter, r *http.Request, me board.Viewer, record *ask.Record, form typed, status int, problem string, faults []ask.Fault) {
	p := s.newPage(r.Context(), me, new(record.Ask.Key()), listingOf(r))
	p.focus(s, s.newAsk(r.Context(), record, me, form, faults), record, me)
	p.Ask.Problem = problem
	if id := form.get(fieldAnswerID); status == http.StatusServiceUnavailable && id != "" { // it may have been stored: sending it again repeats the same answer
		if p.Ask.AnswerID = id; form.values.Has(fieldWhy) {
			p.Ask.AnswerID, p.Ask.AloneID = p.Ask.AloneID, id
		}
	}
	if again := p.Ask.Faults(faults); len(again) > 0 && problem == "" {
		p.Ask.Problem = p.Ask.NotSent(again)
	}
	s.write(w, status, p)
}

// again draws the current state of the ask, without input that was typed for an
// earlier life.
func (s *Server) again(ctx context.Context, w http.ResponseWriter, r *http.Request, me board.Viewer, record *ask.Record, status int, told string) {
	p := s.newPage(ctx, me, new(record.Ask.Key()), listingOf(r))
	p.focus(s, s.newAsk(ctx, record, me, typed{}, nil), record, me)
	if p.Ask.Told = told; status != http.StatusOK {
		p.Ask.Problem, p.Ask.Told = told, ""
	}
	s.write(w, status, p)
}

// tooLate says who answered first. The person's own answer, sent twice, is not
// a conflict.
func (s *Server) tooLate(w http.ResponseWriter, r *http.Request, me board.Viewer, record *ask.Record, form typed) {
	o := record.Outcome
	if id := form.get(fieldAnswerID); id != "" && id == o.AnswerID {
		s.goOn(w, r, me, "/"+listingOf(r).with(url.Values{fieldDone: {record.Ask.Key().String()}}))
		return
	}
	status := http.StatusConflict
	if o.Status == ask.StatusExpired {
		status = http.StatusGone
	}
	s.redrawForm(w, r, me, record, form, status, "", nil)
}

func (s *Server) badForm(w http.ResponseWriter, me board.Viewer, err error) {
	status, line := http.StatusBadRequest, say(me, "The form could not be read. Go back and send it again.")
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status, line = http.StatusRequestEntityTooLarge, say(me, "What you sent is larger than 1 MiB. Go back and shorten it.")
	}
	s.plain(w, status, plainPage{Me: card.Name(me.By), Title: say(me, "Not sent"), Lines: []string{line}, Back: true})
}
