package webhooks

import (
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxReads is how many files are in memory at a time.
const maxReads = 8

// takeWithin bounds the arrival of one file.
const takeWithin = time.Minute

// linked is a file that an ask refers to, in a message. Its URL reads it until the ask has ended.
type linked struct {
	ask.File
	At  string `json:"at"`            // where the ask refers to it: "/files/0"
	URL string `json:"url,omitempty"` // empty: there is no answer address
}

// linkedFiles returns the files of an ask for a surface with this answer address.
func linkedFiles(a *ask.Ask, answerURL string) (all []linked) {
	for at, f := range a.AllFiles() {
		one := linked{File: *f, At: at}
		if answerURL != "" {
			one.URL = answerURL + "/files/" + f.ID
		}
		all = append(all, one)
	}
	return all
}

// outcomeFiles is how long the files of an answer are read at their addresses: longer than a delivery is repeated.
const outcomeFiles = 7 * 24 * time.Hour

// withFiles returns an outcome with the addresses of the files of its answers.
func (a *App) withFiles(d *delivery, e *Entry, o *ask.Outcome) any {
	var all []linked
	for at, f := range o.AllFiles() {
		all = append(all, linked{File: *f, At: at, URL: a.fileOfOutcome(d, e, f)})
	}
	if len(all) == 0 {
		return o
	}
	fields := map[string]any{}
	data, err := wire.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return o
	}
	fields["files"] = all
	return fields
}

// fileOfOutcome returns the address of a file of an answer; empty: it has none.
func (a *App) fileOfOutcome(d *delivery, e *Entry, f *ask.File) string {
	secrets := e.endpoint().Secrets
	if a.opts.BaseURL == "" || len(secrets) == 0 {
		return ""
	}
	return a.opts.BaseURL + PathAnswer + d.token(secrets[0]) + "/files/" + f.ID
}

// sendFile sends a file of a pending ask, or of an answer, to who has its address.
func (a *App) sendFile(w http.ResponseWriter, r *http.Request) {
	if err := a.send(w, r); err != nil {
		refuse(w, err)
	}
}

func (a *App) send(w http.ResponseWriter, r *http.Request) error {
	d, rec, err := a.addressed(r)
	if err != nil {
		return err
	}
	files := rec.Ask.AllFiles()
	if d.Kind != question {
		files = rec.Outcome.AllFiles()
	}
	id := r.PathValue("file")
	if !refersTo(files, id) {
		return ask.Refuse(ask.CodeNotFound, "there is no file %q; use a url of files as it was sent", ask.Clip(ask.CleanLine(id), 80))
	}
	done, ok := a.place(r)
	if !ok {
		return r.Context().Err()
	}
	defer done()
	f, data, err := a.bus.File(r.Context(), rec.Ask.Key().InSession(), id)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	httpserver.SendFile(w, &f, data)
	return nil
}

// place takes one of the places of files in memory.
func (a *App) place(r *http.Request) (done func(), ok bool) {
	select {
	case a.reads <- struct{}{}:
		return func() { <-a.reads }, true
	case <-r.Context().Done():
		return nil, false
	}
}

// takeFile stores a file to which the answer of a program can refer.
func (a *App) takeFile(w http.ResponseWriter, r *http.Request) {
	data, err := a.take(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	respond(w, http.StatusCreated, "application/json", data)
}

func (a *App) take(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	d, rec, err := a.addressed(r)
	switch {
	case err != nil:
		return nil, err
	case d.Kind != question:
		return nil, ask.Refuse(ask.CodeForbidden, "this address reads files of an outcome; upload below answer_url")
	}
	done, ok := a.place(r)
	if !ok {
		return nil, r.Context().Err()
	}
	defer done()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(takeWithin)) // some tests' ResponseWriters have none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, ask.MaxFileBytes))
	if err != nil {
		return nil, ask.Refuse(ask.CodeTooLarge, "the file does not arrive within %s, or has more than %d bytes", takeWithin, ask.MaxFileBytes)
	}
	_ = control.SetReadDeadline(time.Time{})
	f, err := a.bus.Upload(r.Context(), rec.Ask.Key().InSession(), r.URL.Query().Get("name"), body)
	if err != nil {
		return nil, err
	}
	return wire.Marshal(f)
}

// addressed returns what an address names: a pending ask, or one that has ended, for the files of its outcome.
func (a *App) addressed(r *http.Request) (*delivery, ask.Record, error) {
	d, e, err := a.named(r)
	if err != nil {
		return nil, ask.Record{}, err
	}
	rec, err := a.of(r, d, e)
	switch {
	case err != nil:
	case d.Kind == pressed:
		err = ask.Refuse(ask.CodeNotFound, "this address only answers")
	case d.Kind == question && rec.Outcome != nil:
		err = ask.Refuse(ask.CodeNotFound, "the ask has ended, and with it the address of its files")
	case d.Kind != question && (rec.Outcome == nil || a.opts.Now().After(rec.Outcome.At.Add(outcomeFiles))):
		err = ask.Refuse(ask.CodeNotFound, "the address of this file is no longer valid; read the file with a token of its session")
	}
	return d, rec, err
}

func refersTo(files iter.Seq2[string, *ask.File], id string) bool {
	for _, f := range files {
		if f.ID == id {
			return true
		}
	}
	return false
}
