// Package fakepagerduty is a server that takes events as PagerDuty's Events API v2 is
// documented to, and refuses what that refuses. PagerDuty itself cannot be had in a
// test.
package fakepagerduty

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Key is the integration key that the server knows.
const Key = "0123456789abcdef0123456789abcdef"

// Bounds of events, as documented.
const (
	maxBytes   = 512 << 10
	maxSummary = 1024
	maxDedup   = 255
)

// Event is what it was sent.
type Event struct {
	RoutingKey string `json:"routing_key"`
	Action     string `json:"event_action"`
	DedupKey   string `json:"dedup_key"`
	Payload    *struct {
		Summary  string         `json:"summary"`
		Source   string         `json:"source"`
		Severity string         `json:"severity"`
		Details  map[string]any `json:"custom_details"`
	} `json:"payload"`
	Links []struct {
		Href string `json:"href"`
		Text string `json:"text"`
	} `json:"links"`
	ClientURL string `json:"client_url"`
	Raw       string `json:"-"`
}

// Server is the fake.
type Server struct {
	*httptest.Server

	// Before, if set, is called with each event that is valid, before and after it
	// counts; an answer that is not 0 is sent in its place.
	Before func(e Event, counted bool) (status int, retryAfter int)

	mu        sync.Mutex
	incidents map[string]*Incident
	changed   chan struct{}
}

// Incident is what PagerDuty would show of one deduplication key.
type Incident struct {
	State    string // triggered, acknowledged or resolved
	Triggers int    // events that opened it or were added to it
	Opened   int    // how often it was opened: again after it was resolved
	Last     Event  // the last trigger
}

// New starts a server.
func New() *Server {
	s := &Server{incidents: map[string]*Incident{}, changed: make(chan struct{}, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Incidents returns what it holds, by deduplication key.
func (s *Server) Incidents() map[string]Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Incident{}
	for key, i := range s.incidents {
		all[key] = *i
	}
	return all
}

// Changed has a signal after an event.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v2/enqueue" || r.Method != http.MethodPost {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBytes+1))
	if err != nil {
		return
	}
	if len(data) > maxBytes {
		http.Error(w, "Payload Too Large", http.StatusRequestEntityTooLarge)
		return
	}
	e := Event{Raw: string(data)}
	if err := json.Unmarshal(data, &e); err != nil {
		refuse(w, "JSON parse error")
		return
	}
	if errs := e.faults(); len(errs) > 0 {
		refuse(w, errs...)
		return
	}
	if s.instead(w, e, false) {
		return
	}
	s.take(e)
	if s.instead(w, e, true) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "success", "message": "Event processed", "dedup_key": e.DedupKey})
}

// instead sends what Before wants in place of the answer.
func (s *Server) instead(w http.ResponseWriter, e Event, counted bool) bool {
	if s.Before == nil {
		return false
	}
	status, after := s.Before(e, counted)
	if status == 0 {
		return false
	}
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	w.WriteHeader(status)
	return true
}

func refuse(w http.ResponseWriter, errs ...string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "invalid event", "message": "Event object is invalid", "errors": errs})
}

func (e *Event) faults() (errs []string) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Sprintf(format, args...)) }
	switch {
	case len(e.RoutingKey) != 32:
		bad("Length of 'routing_key' is incorrect (should be 32 characters)")
	case e.RoutingKey != Key:
		bad("Invalid routing key")
	}
	if len(e.DedupKey) > maxDedup {
		bad("'dedup_key' is too long")
	}
	switch e.Action {
	case "acknowledge", "resolve":
		if e.DedupKey == "" {
			bad("'dedup_key' is missing or blank")
		}
		return errs
	case "trigger":
	default:
		bad("'event_action' is invalid")
		return errs
	}
	if e.Payload == nil {
		bad("'payload' is missing")
		return errs
	}
	if n := utf8.RuneCountInString(e.Payload.Summary); n == 0 || n > maxSummary {
		bad("'payload.summary' is missing or has more than %d characters", maxSummary)
	}
	if e.Payload.Source == "" {
		bad("'payload.source' is missing or blank")
	}
	if !slices.Contains([]string{"critical", "error", "warning", "info"}, e.Payload.Severity) {
		bad("'payload.severity' is invalid (must be one of the following: 'critical', 'warning', 'error' or 'info')")
	}
	for _, l := range e.Links {
		if l.Href == "" {
			bad("'links' has an entry without 'href'")
		}
	}
	return errs
}

// take does what an event says: a trigger of an open incident is added to it, and
// anything about one that is not open is ignored.
func (s *Server) take(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}()
	i := s.incidents[e.DedupKey]
	switch open := i != nil && i.State != "resolved"; {
	case e.Action == "trigger":
		if i == nil {
			i = &Incident{}
			s.incidents[e.DedupKey] = i
		}
		if !open {
			i.State = "triggered"
			i.Opened++
		}
		i.Triggers++
		i.Last = e
	case !open:
	case e.Action == "acknowledge":
		i.State = "acknowledged"
	default:
		i.State = "resolved"
	}
}

// Keys returns the deduplication keys, in order.
func (s *Server) Keys() []string {
	all := s.Incidents()
	return slices.Sorted(maps.Keys(all))
}
