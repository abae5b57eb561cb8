package web

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// mostAbsent bounds the list of who is away; one's own come first.
const mostAbsent = 100

// awayPage is the page about who stands in for whom.
type awayPage struct {
	Me, Now, Problem  string
	For               string // the principal for whom it is drawn
	To, Until, Tenant string // as they were typed
	Today, Latest     string
	People            []pick // who is suggested
	Lines             []awayLine
}

// awayLine is one stand-in.
type awayLine struct {
	Absent, By, Tenant, Until string
	Own                       bool // this person may end it
}

// showAway shows who stands in for whom, as far as it concerns a tenant in which
// this person sees asks.
func (s *Server) showAway(w http.ResponseWriter, _ *http.Request, me board.Viewer) {
	s.drawAway(w, http.StatusOK, me, awayPage{})
}

func (s *Server) drawAway(w http.ResponseWriter, status int, me board.Viewer, p awayPage) {
	now := s.opts.Now()
	if me.Zone != nil {
		now = now.In(me.Zone)
	}
	p.Me, p.For, p.Now, p.People = card.Name(me.By), me.By.Principal, card.Moment{At: now}.Stamp(), s.known(me)
	p.Today, p.Latest = now.Format(time.DateOnly), now.AddDate(0, 0, 89).Format(time.DateOnly)
	for _, own := range []bool{true, false} {
		for _, one := range s.opts.StandIns.All() {
			if len(p.Lines) == mostAbsent || (one.Absent.Principal == me.By.Principal) != own || !own && !concerns(me, &one) {
				continue
			}
			p.Lines = append(p.Lines, awayLine{
				ask.CleanLine(one.Absent.Called("")), ask.CleanLine(one.By), one.Tenant, viewer(me).When(one.Until, now, card.Until).Words, own,
			})
		}
	}
	s.render(w, status, "away", p)
}

// concerns reports whether a person is the stand-in, or may see asks of its tenant.
func concerns(me board.Viewer, one *ask.StandIn) bool {
	return one.By == me.By.Principal || me.Access == nil || me.Sees(ask.Key{Tenant: one.Tenant}, nil)
}

// setAway notes who stands in for this person, or ends it.
func (s *Server) setAway(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	a := responder.Away{By: me.By, To: r.PostFormValue("to"), Tenant: r.PostFormValue("tenant")}
	p := awayPage{To: a.To, Tenant: a.Tenant, Until: r.PostFormValue("until")}
	refuse := func(words string) {
		p.Problem = words
		s.drawAway(w, http.StatusUnprocessableEntity, me, p)
	}
	if drawnForAnother(r, me) {
		s.drawAway(w, http.StatusConflict, me, awayPage{Problem: somebodyElse(me)})
		return
	}
	if a.Tenant != "" && !ask.ValidToken(a.Tenant) {
		refuse(say(me, "That is not the name of a tenant."))
		return
	}
	if r.PostFormValue("end") == "" {
		var err error
		if a.Tenant, err = auth.TerminalTenant(me.Access, a.Tenant); err != nil { // the broker knows no access: it counts every right of the groups
			refuse(say(me, "A stand-in may decide everything of a tenant, which you may not, or not in this one. Name a tenant in which you may."))
			return
		}
		zone := cmp.Or(me.Zone, time.UTC)
		day, err := time.ParseInLocation(time.DateOnly, p.Until, zone)
		if err != nil {
			refuse(say(me, "Choose the last day on which you are away."))
			return
		}
		a.Until = day.AddDate(0, 0, 1)
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	if _, err := s.opts.StandIns.Set(ctx, a); err != nil {
		refuse(say(me, "Nothing was changed: %s", ask.CleanLine(notSet(me, err))))
		return
	}
	http.Redirect(w, r, "/away", http.StatusSeeOther)
}

// notSet says why a stand-in was not set. One who cannot be is named by what was typed, not by the field.
func notSet(me board.Viewer, err error) string {
	e := wire.AsError(err).In(me.Language)
	if len(e.Faults) == 1 && e.Faults[0].Pointer == "/to" {
		return e.Faults[0].Message
	}
	return e.Error()
}
