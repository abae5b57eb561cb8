package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// shape is the dialect in which a screen is spoken to.
type shape string

const (
	shapeD1 shape = "d1"
	shapeD2 shape = "d2"
	shapeD4 shape = "d4"
)

func shapeOf(name string) (shape, error) {
	switch s := shape(strings.ToLower(name)); s {
	case "":
		return shapeD4, nil
	case shapeD1, shapeD2, shapeD4:
		return s, nil
	}
	return "", fault("the dialect is %s; a socket speaks d1, d2 or d4", quote(name))
}

// handle carries out one frame.
func (s *socket) handle(ctx context.Context, body []byte, helpers *sync.WaitGroup) error {
	var f frame
	if err := json.Unmarshal(body, &f); err != nil || f.Type == "" {
		return s.complain(ctx, "", fault(`this is no frame; send { "type": …, "data": … }`))
	}
	var err error
	switch {
	case f.Type == framePing:
		return s.send(ctx, framePong, f.Data)
	case f.Type == frameHello:
		err = s.hello(ctx, f.Data, helpers)
	case f.Type == dialect.D4Response && s.screen != nil:
		return s.respondD4(ctx, f.Data)
	case f.Type == dialect.D1Response && s.screen != nil:
		return s.respondD1(ctx, f.Data)
	case f.Type == dialect.D1Request && s.asker != nil:
		return s.asks(ctx, f.Data, helpers)
	case f.Type == dialect.D4Response, f.Type == dialect.D1Response, f.Type == dialect.D1Request:
		err = s.c.forbid("this frame (" + f.Type + ")")
	default:
		err = fault("no frame is called %s; a socket takes %s", quote(f.Type), strings.Join(
			[]string{frameHello, dialect.D4Response, dialect.D1Response, dialect.D1Request, framePing}, ", "))
	}
	if err != nil {
		return s.complain(ctx, "", err)
	}
	return nil
}

// helloJSON is what a client may say first.
type helloJSON struct {
	Dialect string   `json:"dialect"`
	Open    []string `json:"open"` // the asks that it shows or waits for, from before
	By      string   `json:"by"`
}

// hello changes the dialect, and resumes. The error is for the client.
func (s *socket) hello(ctx context.Context, data json.RawMessage, helpers *sync.WaitGroup) error {
	var h helloJSON
	if err := cloudevent.Strict("hello", data, &h); err != nil {
		return err
	}
	if h.By != "" {
		s.name = clipName(h.By)
	}
	if h.Dialect != "" && s.screen != nil {
		shape, err := shapeOf(h.Dialect)
		if err != nil {
			return err
		}
		if shape != s.screen.shape {
			s.screen = newScreen(shape)
			s.stale()
		}
	}
	s.resume(h.Open)
	s.begin(ctx, helpers)
	return nil
}

// resume remembers what a client had open on an earlier connection.
func (s *socket) resume(ids []string) {
	ids = ids[:min(len(ids), s.g.opts.MaxPerSocket)]
	for _, id := range ids {
		k := ask.Key{Tenant: s.scope.tenant, Session: s.scope.session}
		if session, rest, both := strings.Cut(id, "/"); both {
			k.Session, id = ask.Token(session), rest
		}
		k.ID, _ = dialect.D4ID(id)
		if k.Session == "" || !k.Valid() || !s.c.MaySee(k.Tenant, k.Session) {
			continue
		}
		if s.screen != nil && !slices.Contains(s.screen.before, k) {
			s.screen.before = append(s.screen.before, k)
		} else if s.screen == nil && s.asker != nil {
			s.asker.before = append(s.asker.before, k)
		}
	}
	if s.screen != nil && len(ids) > 0 {
		s.stale()
	}
}
