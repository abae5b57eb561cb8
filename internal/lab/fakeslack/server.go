package fakeslack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/halfopen"
)

// Options tunes a [Server]. The zero value is ready to use.
type Options struct {
	Team       string // id of the workspace; default "T0HOME"
	Enterprise string // id of the enterprise grid; default: none

	BotToken      string // default "xoxb-fake"
	AppToken      string // default "xapp-fake"
	SigningSecret string // default "fake-secret"
	// Scopes are the bot token's scopes; default: all that askbus requests.
	Scopes []string

	Clock     Clock         // default: the machine's
	AckWithin time.Duration // timeout of an acknowledgement, by the machine's clock; default 3 s
	NoLimits  bool          // no rate limits

	Addr string // address to listen on; default: a free loopback port
	Host string // host and port at which the app reaches it; default: Addr
}

// Server is a workspace with one app. It is safe for concurrent use.
type Server struct {
	opts Options
	http *http.Server
	addr string // by which the app reaches it

	mu        sync.Mutex
	seq       int64
	users     map[string]*User
	groups    map[string]*Group
	channels  map[string]*Channel
	messages  map[Place]*Message
	order     []Place
	ephemeral []Message
	scheduled []Scheduled
	views     map[string]*View
	homes     map[string]*View
	triggers  map[string]*trigger
	responses map[string]Place // messages by response_url id
	revoked   string           // error code of the revoked tokens
	outage    int              // HTTP status of every call; 0: none
	throttled map[string]time.Time
	buckets   map[string]*bucket
	calls     []Call
	uploads   map[string]*File
	counts    map[string]int

	states map[string]map[string]map[string]any // element values, by place and user

	intercept func(method, key string, done bool) (time.Duration, error)

	sockets sockets
	hooks   hooks
	work    sync.WaitGroup
	closed  chan struct{}
	changed chan struct{} // closed by the next call
}

// Place identifies a message. Nothing else does: in a grid, team ids differ between the post and
// the click.
type Place struct{ Channel, TS string }

// Start starts a workspace.
func Start(opts Options) (*Server, error) {
	opts.fill()
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("fake slack: %w", err)
	}
	s := &Server{
		opts: opts, addr: cmp.Or(opts.Host, l.Addr().String()),
		users: map[string]*User{}, groups: map[string]*Group{}, channels: map[string]*Channel{}, messages: map[Place]*Message{},
		views: map[string]*View{}, homes: map[string]*View{}, triggers: map[string]*trigger{}, responses: map[string]Place{},
		throttled: map[string]time.Time{}, buckets: map[string]*bucket{}, counts: map[string]int{}, uploads: map[string]*File{}, closed: make(chan struct{}), changed: make(chan struct{}),
	}
	s.users[BotUser] = &User{ID: BotUser, Team: opts.Team, Name: "askbus", Bot: true}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveAPI)
	mux.HandleFunc("/link/{ticket}", s.serveSocket)
	mux.HandleFunc("/respond/{id}", s.serveResponse)
	mux.HandleFunc("POST /upload/{id}", s.serveUpload)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	l = halfopen.Listen(s.http, l)
	s.work.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	})
	return s, nil
}

func (o *Options) fill() {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&o.Team, "T0HOME")
	set(&o.BotToken, "xoxb-fake")
	set(&o.AppToken, "xapp-fake")
	set(&o.SigningSecret, "fake-secret")
	set(&o.Addr, "127.0.0.1:0")
	if o.Scopes == nil {
		o.Scopes = []string{
			"chat:write", "chat:write.public", "im:write", "files:write", "users:read", "users:read.email", "usergroups:read",
			"channels:history", "groups:history", "im:history", "channels:read", "groups:read", "im:read", "commands",
		}
	}
	if o.Clock == nil {
		o.Clock = Wall{}
	}
	if o.AckWithin <= 0 {
		o.AckWithin = 3 * time.Second
	}
}

// Close closes every connection and waits for running calls.
func (s *Server) Close() {
	s.mu.Lock() // no new goroutines from here on
	close(s.closed)
	s.mu.Unlock()
	s.sockets.closeAll()
	_ = s.http.Close()
	s.work.Wait()
}

// URL returns the base URL of the Web API, with the trailing slash that clients need.
func (s *Server) URL() string { return "http://" + s.addr + "/api/" }

// Settings returns the server's options with their defaults.
func (s *Server) Settings() Options { return s.opts }

// Ids of the workspace's app and bot.
const (
	AppID   = "A0ASKBUS"
	BotUser = "U0BOT"
	BotID   = "B0BOT"
)

// Now returns the workspace's time.
func (s *Server) Now() time.Time { return s.opts.Clock.Now() }

// ts returns a new timestamp; the caller holds the lock.
func (s *Server) ts() string {
	s.seq++
	return strconv.FormatInt(s.opts.Clock.Now().Unix(), 10) + "." + fmt.Sprintf("%06d", s.seq)
}

// id returns a new id with a prefix; the caller holds the lock.
func (s *Server) id(prefix string) string {
	s.seq++
	return prefix + fmt.Sprintf("%06d", s.seq)
}

// PostAsApp posts a message of the app without a call; blocks are JSON.
func (s *Server) PostAsApp(channel, blocks string) Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{Place: Place{channel, s.ts()}, User: BotUser}
	if err := m.read(args{"text": "posted", "blocks": blocks}, maxPostText, false); err != nil {
		panic(err)
	}
	s.put(m)
	return m.Place
}

// Await waits until holds returns true or ctx ends. It checks after every call.
func (s *Server) Await(ctx context.Context, holds func() bool) bool {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// wake wakes the callers of Await; the caller holds the lock.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
