package main

import (
	"encoding/json"
	"net/http"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/pkg/ask"
)

// backlogFigures is the body that a scaler reads: one number and its parts.
type backlogFigures struct {
	broker.Backlog
	Sum int64 `json:"backlog"`
}

// withBacklog serves a broker's probes and, at /backlog/TYPE, how much work waits for the replicas
// of a responder type. The backlog of an unknown type is 0, and a broker that cannot count replies
// 503: a scaler must not start all its replicas for either.
func withBacklog(b *broker.Broker, ready func() error, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", daemon.Ops(ready, metrics))
	mux.HandleFunc("GET /backlog", func(w http.ResponseWriter, r *http.Request) {
		if all, ok := backlog(w, r, b); ok {
			types := map[string]backlogFigures{}
			for typ, f := range all {
				types[typ] = backlogFigures{f, f.Sum()}
			}
			tellFigures(w, map[string]any{"types": types})
		}
	})
	mux.HandleFunc("GET /backlog/{type}", func(w http.ResponseWriter, r *http.Request) {
		typ := r.PathValue("type")
		if !ask.ValidToken(typ) {
			http.Error(w, "invalid responder type: use A-Z a-z 0-9 _ -", http.StatusBadRequest)
			return
		}
		if all, ok := backlog(w, r, b); ok {
			tellFigures(w, backlogFigures{all[typ], all[typ].Sum()})
		}
	})
	return mux
}

func backlog(w http.ResponseWriter, r *http.Request, b *broker.Broker) (map[string]broker.Backlog, bool) {
	all, err := b.Backlog(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
	return all, err == nil
}

func tellFigures(w http.ResponseWriter, figures any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(figures) // the client is gone
}
