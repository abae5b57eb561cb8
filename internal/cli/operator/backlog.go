package operator

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/process/daemon"
)

// backlogFigures is the body that a scaler reads: one number and its parts.
type backlogFigures struct {
	broker.Backlog
	Sum int64 `json:"backlog"`
}

// WithBacklog serves a broker's probes and, at /backlog/TYPE, how much work waits for the replicas
// of a responder type, or of one tenant's (TYPE@TENANT). The backlog of an unknown type is 0, and a broker that cannot count replies
// 503: a scaler must not start all its replicas for either.
//
// more returns why the rest of the process does not serve; nil: there is no rest.
func WithBacklog(b *broker.Broker, more func() error, metrics http.Handler, profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", daemon.Ops(func() error {
		if more == nil {
			return b.Healthy()
		}
		return errors.Join(more(), b.Healthy())
	}, metrics, profiles, b.Notes))
	mux.HandleFunc("GET /backlog", func(w http.ResponseWriter, r *http.Request) {
		if all, ok := backlog(w, r, b); ok {
			types := map[string]backlogFigures{}
			for typ, f := range all {
				types[typ] = backlogFigures{f, f.Sum()}
			}
			writeFigures(w, map[string]any{"types": types})
		}
	})
	mux.HandleFunc("GET /backlog/{type}", func(w http.ResponseWriter, r *http.Request) {
		typ := r.PathValue("type")
		if err := broker.CheckTypes([]string{typ}); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if all, ok := backlog(w, r, b); ok {
			writeFigures(w, backlogFigures{all[typ], all[typ].Sum()})
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

func writeFigures(w http.ResponseWriter, figures any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(figures) // the client is gone
}
