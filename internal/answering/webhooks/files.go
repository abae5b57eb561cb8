package webhooks

import (
	"net/http"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// maxReads is how many files are in memory at a time.
const maxReads = 8

// sendWithin bounds the sending of one file.
const sendWithin = time.Minute

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

// sendFile sends a file of a pending ask to who has its answer address.
func (a *App) sendFile(w http.ResponseWriter, r *http.Request) {
	rec, err := a.addressed(r)
	if err != nil {
		refuse(w, err)
		return
	}
	id := r.PathValue("file")
	if !refersTo(&rec.Ask, id) {
		refuse(w, ask.Refuse(ask.CodeNotFound, "the ask has no file %q; use a url of its files as it was sent", ask.Clip(ask.CleanLine(id), 80)))
		return
	}
	select {
	case a.reads <- struct{}{}:
		defer func() { <-a.reads }()
	case <-r.Context().Done():
		return
	}
	f, data, err := a.bus.File(r.Context(), rec.Ask.Key().InSession(), id)
	if err != nil {
		refuse(w, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendWithin)) // some tests' ResponseWriters have none
	w.Header().Set("Cache-Control", "no-store")
	httpserver.SendFile(w, &f, data)
}

// addressed returns the pending ask that an answer address names.
func (a *App) addressed(r *http.Request) (ask.Record, error) {
	d, e, err := a.named(r)
	if err != nil {
		return ask.Record{}, err
	}
	rec, err := a.of(r, d, e)
	if err == nil && rec.Outcome != nil {
		err = ask.Refuse(ask.CodeNotFound, "the ask has ended, and with it the address of its files")
	}
	return rec, err
}

func refersTo(a *ask.Ask, id string) bool {
	for _, f := range a.AllFiles() {
		if f.ID == id {
			return true
		}
	}
	return false
}
