package web

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// maxExported bounds the number of ended asks in one export.
const maxExported = 200_000

func exportPath(f sought, format string) string {
	to := f.query("/history/export", 0)
	if strings.Contains(to, "?") {
		return to + "&format=" + format
	}
	return to + "?format=" + format
}

// export writes the ended asks page by page, in the order of asking: JSON has
// the protocol's records, CSV one line per ask.
func (s *Server) export(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	f, format := soughtOf(r), r.URL.Query().Get("format")
	var write exporter
	switch format {
	case "json":
		w.Header().Set("Content-Type", "application/json")
		write = &jsonExport{out: w}
	case "csv":
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		write = &csvExport{out: csv.NewWriter(w)}
	default:
		s.plain(w, http.StatusBadRequest, plainPage{Me: card.Name(me.By), Title: answeredIn(w).Say("No such format"), Lines: []string{answeredIn(w).Say("An export is json or csv.")}, Back: true})
		return
	}
	q := responder.Query{State: ask.StateResolved, PageSize: pastPage}
	page, err := s.asks.List(r.Context(), q) // before the first byte, so that an error can still be a page
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="askbus-history.`+format+`"`)
	rc := http.NewResponseController(w)
	for n := 0; ; {
		_ = rc.SetWriteDeadline(time.Now().Add(30 * time.Second)) // some ResponseWriters in tests do not support deadlines
		for i := range page.Items {
			rec := &page.Items[i]
			if rec.Outcome == nil || !me.Sees(rec.Ask.Key(), rec.Ask.Audience) || !s.exported(rec, f) {
				continue
			}
			if err = write.record(rec); err != nil {
				return // the browser disconnected
			}
			n++
		}
		if q.Cursor = page.Next; q.Cursor == "" || n >= maxExported {
			break
		}
		if page, err = s.asks.List(r.Context(), q); err != nil {
			// The file is incomplete: abort the response so that the client
			// notices.
			s.opts.Logger.WarnContext(r.Context(), "an export ended early", slog.Any("error", err))
			panic(http.ErrAbortHandler)
		}
	}
	_ = write.end()
}

func (s *Server) exported(rec *ask.Record, f sought) bool {
	if f.search == "" {
		return f.takes(rec.Outcome.Status, "")
	}
	end := card.NewEnd(rec, viewer(board.Viewer{}), s.opts.Now())
	who := ""
	if by := rec.Outcome.By; by != nil {
		who = by.Principal + " " + by.Name
	}
	return f.takes(end.Status, strings.ToLower(strings.Join([]string{end.Heading, end.Summary, rec.Ask.Agent.Name, rec.Ask.Agent.ID, rec.Ask.Key().String(), who, end.Where}, "\n")))
}

// exporter writes records.
type exporter interface {
	record(rec *ask.Record) error
	end() error
}

type jsonExport struct {
	out  io.Writer
	some bool
}

func (e *jsonExport) record(rec *ask.Record) error {
	lead := ",\n"
	if !e.some {
		lead, e.some = "[\n", true
	}
	data, err := json.Marshal(rec)
	if err == nil {
		_, err = io.WriteString(e.out, lead+string(data))
	}
	return err
}

func (e *jsonExport) end() error {
	tail := "\n]\n"
	if !e.some {
		tail = "[]\n"
	}
	_, err := io.WriteString(e.out, tail)
	return err
}

type csvExport struct {
	out  *csv.Writer
	some bool
}

func (e *csvExport) record(rec *ask.Record) error {
	if !e.some {
		e.some = true
		if err := e.out.Write([]string{"tenant", "session", "id", "agent", "asked", "asked_at", "ended_at", "waited_seconds", "status", "answer", "by", "name", "where", "reason"}); err != nil {
			return err
		}
	}
	o, k := rec.Outcome, rec.Ask.Key()
	end := card.NewEnd(rec, viewer(board.Viewer{}), o.At)
	by := ask.By{}
	if o.By != nil {
		by = *o.By
	}
	return e.out.Write([]string{
		k.Tenant, k.Session, k.ID, cell(cmp.Or(rec.Ask.Agent.Name, rec.Ask.Agent.ID)), cell(end.Heading), rec.AskedAt.UTC().Format(time.RFC3339), o.At.UTC().Format(time.RFC3339),
		strconv.FormatFloat(o.At.Sub(rec.AskedAt).Seconds(), 'f', 1, 64), string(o.Status), cell(end.Summary), cell(by.Principal), cell(by.Name), by.Responder, cell(o.Reason),
	})
}

func (e *csvExport) end() error {
	e.out.Flush()
	return e.out.Error()
}

// cell escapes text that a spreadsheet would evaluate as a formula.
func cell(s string) string {
	s = ask.CleanLine(s)
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
