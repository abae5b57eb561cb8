package web

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// breakGlass decides an ask alone, with a role of the operator. It has a form of its own, with the reason and a
// box to tick, and it is never held: what everybody is told cannot be taken back.
func (s *Server) breakGlass(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, form, ok := s.submitted(w, r, me)
	if !ok {
		return
	}
	k := record.Ask.Key()
	may := card.New(&record, viewer(me), s.opts.Now()).BreakGlass
	if may == nil {
		s.notePerson(r, "break-glass", ask.CodeForbidden, "they have no role for it", me, k)
		s.redrawForm(w, r, me, &record, form, http.StatusForbidden, say(me, "You have no break-glass role for this ask."), nil)
		return
	}
	reason, wrong := may.Check(normalLines(form.get(fieldWhy)))
	reply, faults := form.reply(&record.Ask, me.By)
	reply.Response = ""
	if _, _, err := record.Ask.Check(reply); err != nil {
		faults = merge(faults, faultsOf(err))
	}
	switch {
	case wrong != "":
	case form.get(fieldSure) == "":
		wrong = say(me, "Tick that you decide this alone.")
	case len(faults) > 0:
		wrong = say(me, "Choose what you decide.")
	}
	if wrong != "" {
		s.redrawForm(w, r, me, &record, form, http.StatusUnprocessableEntity, wrong, nil)
		return
	}
	reply.BreakGlass = &ask.BreakGlass{Reason: reason}
	to, undo := s.onward(r, me, k)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	outcome, err := s.asks.Answer(ctx, k, reply)
	if err != nil {
		undo()
		s.refused(w, r, me, &record, form, err)
		return
	}
	s.settle(record, outcome)
	s.opts.Logger.InfoContext(r.Context(), "decided alone by break-glass", slog.String("ask_id", k.ID), slog.String("status", string(outcome.Status)))
	s.goOn(w, r, me, to)
}
