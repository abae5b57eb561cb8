package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// isUpload reports whether the body of a request is a file.
func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/ask/") && strings.HasSuffix(r.URL.Path, "/file")
}

// file sends a file that an ask or its outcome refers to, to people who may see the
// ask.
func (s *Server) file(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, err := s.record(r.Context(), me, keyOf(r))
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	id := r.PathValue("file")
	if !refersTo(&record, id) {
		s.notFound(w, me)
		return
	}
	// A browser asks each time before it uses its copy: its person may be another one by now, or have lost the right.
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", `"`+id+`"`) // it names the bytes
	if r.Header.Get("If-None-Match") == `"`+id+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	leave, err := s.files.take(r.Context(), me.By.Principal)
	if err != nil {
		return // nobody waits for it
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	f, data, err := s.asks.File(ctx, record.Ask.Key().InSession(), id)
	if err != nil {
		w.Header().Del("ETag")
		s.cannotRead(w, r, me, err)
		return
	}
	httpserver.SendFile(w, &f, data)
}

func refersTo(record *ask.Record, id string) bool {
	all, votes := []iter.Seq2[string, *ask.File]{record.Ask.AllFiles()}, record.Votes
	if record.Outcome != nil {
		all, votes = append(all, record.Outcome.AllFiles()), record.Outcome.Votes
	}
	for _, files := range all {
		for _, f := range files {
			if f.ID == id {
				return true
			}
		}
	}
	return slices.ContainsFunc(votes, func(v ask.Vote) bool {
		return slices.ContainsFunc(v.Files, func(f ask.File) bool { return f.ID == id })
	})
}

// upload stores what a person adds to an answer, such as a pasted screenshot, and
// replies with the reference that the form then has.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	record, err := s.record(r.Context(), me, keyOf(r))
	if err != nil {
		s.cannotRead(w, r, me, err)
		return
	}
	if !viewer(me).May(&record).Answer {
		http.Error(w, say(me, "You may not decide this: %s.", viewer(me).May(&record).Why), http.StatusForbidden)
		return
	}
	waits, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	leave, err := s.files.take(waits, me.By.Principal)
	if err != nil {
		http.Error(w, say(me, "This could not be stored just now. Try again."), http.StatusServiceUnavailable)
		return
	}
	defer leave()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		words := say(me, "A file has at most 5 MiB.")
		http.Error(w, words, http.StatusRequestEntityTooLarge)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	f, err := s.asks.Upload(ctx, record.Ask.Key().InSession(), r.URL.Query().Get("name"), data)
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Code != ask.CodeUnavailable {
		http.Error(w, e.In(me.Language).Error(), wire.HTTPStatus(e.Code))
		return
	}
	if err != nil {
		http.Error(w, say(me, "This could not be stored just now. Try again."), http.StatusServiceUnavailable)
		return
	}
	body, err := json.Marshal(f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// filesOf reads the references of a form. What is none is left out: the page's
// script writes them.
func filesOf(value string) (files []ask.File) {
	if value == "" || json.Unmarshal([]byte(value), &files) != nil {
		return nil
	}
	return files
}
