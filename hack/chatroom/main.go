// Command chatroom is a chat server for trying examples/responder in a lab: it keeps messages in memory and counts
// posts, edits and duplicate posts.
//
//	go run ./hack/chatroom 127.0.0.1:8090 1s
//
// The second argument is the duration of each post. Posts are handled one after the other.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

type message map[string]any

type room struct {
	mu       sync.Mutex
	messages []message
	byKey    map[string]string // id of the first message with a key
	closed   map[string]bool
	doubled  int
	each     time.Duration // duration of a post
}

func (r *room) post(w http.ResponseWriter, req *http.Request) {
	var m message
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<20)).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	time.Sleep(r.each)
	id := strconv.Itoa(len(r.messages))
	m["id"] = id
	key, _ := m["key"].(string)
	if _, ok := r.byKey[key]; ok {
		r.doubled++
	} else {
		r.byKey[key] = id
	}
	r.messages = append(r.messages, m)
	reply(w, m)
}

func (r *room) edit(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed[req.PathValue("id")] = true
	reply(w, message{})
}

func (r *room) find(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := []message{}
	if id, ok := r.byKey[req.URL.Query().Get("key")]; ok {
		found = append(found, message{"id": id})
	}
	reply(w, found)
}

func (r *room) stats(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reply(w, map[string]int{"posted": len(r.messages), "closed": len(r.closed), "doubled": r.doubled})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error means that the client disconnected
}

func main() {
	r := &room{byKey: map[string]string{}, closed: map[string]bool{}}
	if len(os.Args) > 2 {
		var err error
		if r.each, err = time.ParseDuration(os.Args[2]); err != nil {
			log.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /messages", r.post)
	mux.HandleFunc("PUT /messages/{id}", r.edit)
	mux.HandleFunc("GET /messages", r.find)
	mux.HandleFunc("GET /stats", r.stats)
	srv := &http.Server{Addr: os.Args[1], Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(srv.ListenAndServe())
}
