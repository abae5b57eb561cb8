// Package faketeams is a fake of Microsoft Teams for one bot in one directory: the login service, the signing keys of the
// Bot Connector, and the connector, as far as the surface uses them.
//
// It refuses what Microsoft documents: a token of another app, messages over 100 KB as UTF-16, posts to a channel's id
// instead of a thread, cards that are not Adaptive Cards 1.5, and with [Server.Limit] more calls of a conversation than
// 7 in 1 s, 8 in 2 s, 60 in 30 s and 1,800 in an hour. It gives up on a press after 10 s, which nobody has documented
// exactly. Microsoft's own client package accepts it (interop); it was never compared with Teams itself.
package faketeams

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// What the fake knows.
const (
	App    = "11111111-2222-4333-8444-555555555555" // the bot
	Tenant = "99999999-8888-4777-a666-555555555555" // its directory
	Secret = "fake-secret"
	Bot    = "28:" + App
	keyID  = "fake-key"
)

// Person is a member of the directory.
type Person struct {
	Object string // id in the directory
	Name   string
	Role   string // default: user
}

// ID returns the person's id in Teams.
func (p *Person) ID() string { return "29:" + p.Object }

// Message is a message as the fake holds it.
type Message struct {
	Conversation string // with the thread
	ID           string
	Text         string
	Summary      string
	Importance   string
	Card         map[string]any
	First        map[string]any // the card as it was posted
	Edits        int
	Deleted      bool
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	http *httptest.Server
	key  *rsa.PrivateKey
	now  func() time.Time // nil: no limits

	signs func() time.Time // nil: the machine's clock

	mu        sync.Mutex
	within    time.Duration
	bot       string // address of the bot's messaging endpoint
	revoked   bool
	people    map[string]Person          // by object id
	members   map[string]map[string]bool // by conversation without a thread
	messages  []*Message
	calls     map[string][]time.Time
	throttled int
	sequence  int
	intercept func(method string, m *Message, done bool) (time.Duration, error)
	failing   int // the next calls of the connector fail with it
	fails     int
}

// Start starts a fake. Close it.
func Start() *Server {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	s := &Server{key: key, people: map[string]Person{}, members: map[string]map[string]bool{}, calls: map[string][]time.Time{}, within: 10 * time.Second}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/token", s.token)
	mux.HandleFunc("GET /v1/.well-known/openidconfiguration", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]any{"issuer": "https://api.botframework.com", "jwks_uri": s.URL() + "/v1/.well-known/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("GET /v1/.well-known/keys", func(w http.ResponseWriter, _ *http.Request) {
		data, _ := jose.JSONWebKey{Key: s.key.Public(), KeyID: keyID, Use: "sig", Algorithm: "RS256"}.MarshalJSON()
		var k map[string]any
		_ = json.Unmarshal(data, &k)
		k["endorsements"] = []string{"msteams"}
		write(w, http.StatusOK, map[string]any{"keys": []any{k}})
	})
	mux.HandleFunc("POST /v3/conversations", s.connected(s.create))
	mux.HandleFunc("POST /v3/conversations/{conversation}/activities", s.connected(s.post))
	mux.HandleFunc("PUT /v3/conversations/{conversation}/activities/{activity}", s.connected(s.edit))
	mux.HandleFunc("GET /v3/conversations/{conversation}/members/{member}", s.connected(s.member))
	mux.HandleFunc("GET /v3/conversations/{conversation}/pagedmembers", s.connected(s.paged))
	s.http = httptest.NewServer(mux)
	return s
}

// URL returns the address of all its services.
func (s *Server) URL() string { return s.http.URL }

// Metadata returns the address of the connector's OpenID metadata.
func (s *Server) Metadata() string { return s.URL() + "/v1/.well-known/openidconfiguration" }

// Close ends the fake.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Bot says where the bot receives activities.
func (s *Server) Bot(address string) { s.locked(func() { s.bot = address }) }

// Limit applies the limits of conversations, by a clock.
func (s *Server) Limit(now func() time.Time) { s.locked(func() { s.now = now }) }

// Revoke makes the secret and all its tokens invalid.
func (s *Server) Revoke() { s.locked(func() { s.revoked = true }) }

// Fail makes the next calls of the connector fail with a status.
func (s *Server) Fail(status, calls int) { s.locked(func() { s.failing, s.fails = status, calls }) }

// Add adds people to conversations. The bot is in each of these, and in no others.
func (s *Server) Add(p Person, conversations ...string) {
	s.locked(func() {
		if p.Role == "" {
			p.Role = "user"
		}
		s.people[p.Object] = p
		for _, c := range conversations {
			if s.members[c] == nil {
				s.members[c] = map[string]bool{}
			}
			s.members[c][p.Object] = true
		}
	})
}

// Intercept makes f run before and after each call that posts or edits. An error fails the call; with a duration it is
// 429.
func (s *Server) Intercept(f func(method string, m *Message, done bool) (time.Duration, error)) {
	s.locked(func() { s.intercept = f })
}

// Messages returns all messages.
func (s *Server) Messages() (all []Message) {
	s.locked(func() {
		for _, m := range s.messages {
			if !m.Deleted {
				all = append(all, *m)
			}
		}
	})
	return all
}

// Delete deletes a message.
func (s *Server) Delete(conversation, id string) {
	s.locked(func() {
		if m := s.find(conversation, id); m != nil {
			m.Deleted = true
		}
	})
}

// Throttled returns how many calls exceeded the limits.
func (s *Server) Throttled() (n int) {
	s.locked(func() { n = s.throttled })
	return n
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *Server) find(conversation, id string) *Message {
	for _, m := range s.messages {
		if m.Conversation == conversation && m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

// Claims are of a token of the connector. The zero value of a field is what the connector says.
type Claims struct {
	Issuer, Audience, ServiceURL, KeyID string
	Expires                             time.Time
}

// Sign returns a token of the connector, as the value of an Authorization header.
func (s *Server) Sign(c Claims) string {
	or := func(value, usual string) string {
		if value == "" {
			return usual
		}
		return value
	}
	if c.Expires.IsZero() {
		c.Expires = time.Now().Add(time.Hour)
		s.locked(func() {
			if s.signs != nil {
				c.Expires = s.signs().Add(time.Hour)
			}
		})
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: s.key, KeyID: or(c.KeyID, keyID)}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": or(c.Issuer, "https://api.botframework.com"), "aud": or(c.Audience, App), "serviceurl": or(c.ServiceURL, s.URL()),
		"nbf": c.Expires.Add(-2 * time.Hour).Unix(), "exp": c.Expires.Unix(),
	}).Serialize()
	if err != nil {
		panic(err)
	}
	return "Bearer " + token
}

// Activity returns an activity of a person in a conversation.
func (s *Server) Activity(typ string, p Person, conversation string) map[string]any {
	kind := "groupChat"
	switch {
	case strings.Contains(conversation, "@thread.tacv2"):
		kind = "channel"
	case strings.HasPrefix(conversation, "a:"):
		kind = "personal"
	}
	s.mu.Lock()
	s.sequence++
	id := fmt.Sprint("f:", s.sequence)
	s.mu.Unlock()
	a := map[string]any{
		"type": typ, "id": id, "channelId": "msteams", "serviceUrl": s.URL(), "locale": "en-US",
		"from":         map[string]any{"id": p.ID(), "name": p.Name, "aadObjectId": p.Object},
		"recipient":    map[string]any{"id": Bot, "name": "askbus"},
		"conversation": map[string]any{"id": conversation, "conversationType": kind, "tenantId": Tenant},
		"channelData":  map[string]any{"tenant": map[string]any{"id": Tenant}},
	}
	return a
}

// AnswerWithin sets how long the fake waits for the reply to an activity: 10 s by default. Tests of something else wait
// longer, for a machine that is busy.
func (s *Server) AnswerWithin(d time.Duration) { s.locked(func() { s.within = d }) }

// Deliver delivers an activity to the bot, and returns its reply.
func (s *Server) Deliver(ctx context.Context, activity map[string]any, authorization string) (status int, reply map[string]any, err error) {
	body, err := json.Marshal(activity)
	if err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	bot, within := s.bot, s.within
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, bot, strings.NewReader(string(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read
	_ = json.NewDecoder(res.Body).Decode(&reply)
	return res.StatusCode, reply, nil
}

// Install lets a person add the bot for themselves.
func (s *Server) Install(ctx context.Context, p Person) error {
	s.Add(p, "a:"+p.Object)
	a := s.Activity("installationUpdate", p, "a:"+p.Object)
	a["action"] = "add"
	status, _, err := s.Deliver(ctx, a, s.Sign(Claims{}))
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

// Press lets a person press an action of a message by its title, with inputs. It returns what the person is told, and
// the card that replaces it for them.
func (s *Server) Press(ctx context.Context, p Person, m *Message, title string, inputs map[string]string) (told string, shown map[string]any, err error) {
	data := find(m.Card, title)
	if data == nil {
		return "", nil, errors.New("no action is called " + title)
	}
	return s.Invoke(ctx, p, m, with(data, inputs))
}

// Invoke lets a person send data with an Action.Execute at a message.
func (s *Server) Invoke(ctx context.Context, p Person, m *Message, data map[string]any) (told string, shown map[string]any, err error) {
	a := s.Activity("invoke", p, m.Conversation)
	a["name"], a["replyToId"] = "adaptiveCard/action", m.ID
	a["value"] = map[string]any{"action": map[string]any{"type": "Action.Execute", "verb": data["do"], "data": data}, "trigger": "manual"}
	status, reply, err := s.Deliver(ctx, a, s.Sign(Claims{}))
	if err != nil {
		return "", nil, err
	}
	if status != http.StatusOK {
		return "", nil, fmt.Errorf("status %d", status)
	}
	switch reply["type"] {
	case "application/vnd.microsoft.activity.message":
		told, _ = reply["value"].(string)
	case "application/vnd.microsoft.card.adaptive":
		shown, _ = reply["value"].(map[string]any)
		err = check(shown)
	default:
		err = fmt.Errorf("invalid reply %v", reply)
	}
	return told, shown, err
}

// Submit lets a person press an action in an older client, which sends it as a message.
func (s *Server) Submit(ctx context.Context, p Person, m *Message, title string, inputs map[string]string) error {
	a := s.Activity("message", p, m.Conversation)
	a["replyToId"], a["value"] = m.ID, with(find(m.Card, title), inputs)
	_, _, err := s.Deliver(ctx, a, s.Sign(Claims{}))
	return err
}

// Write lets a person write in a conversation, to the bot if they mention it.
func (s *Server) Write(ctx context.Context, p Person, conversation, text string, mentioned bool) error {
	a := s.Activity("message", p, conversation)
	a["text"] = text
	if mentioned {
		a["text"] = "<at>askbus</at> " + text
		a["entities"] = []any{map[string]any{"type": "mention", "text": "<at>askbus</at>", "mentioned": map[string]any{"id": Bot, "name": "askbus"}}}
	}
	status, _, err := s.Deliver(ctx, a, s.Sign(Claims{}))
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

func with(data map[string]any, inputs map[string]string) map[string]any {
	all := maps.Clone(data)
	for k, v := range inputs {
		all[k] = v
	}
	return all
}

// SetNow makes its tokens be valid by a clock.
func (s *Server) SetNow(now func() time.Time) { s.locked(func() { s.signs = now }) }
