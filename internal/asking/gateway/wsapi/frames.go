package wsapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

func (s *socket) handle(ctx context.Context, body []byte, helpers *sync.WaitGroup) error {
	if err := wire.CheckText(body); err != nil {
		return s.complain(ctx, "", err)
	}
	var f frame
	if err := json.Unmarshal(body, &f); err != nil || f.Type == "" {
		return s.complain(ctx, "", ask.Refusal(ask.CodeInvalid, ask.FaultNotFrame))
	}
	var err error
	switch {
	case f.Type == framePing:
		return s.send(ctx, framePong, f.Data)
	case f.Type == frameHello:
		err = s.hello(ctx, f.Data, helpers)
	case f.Type == frameInteractResponse && s.screen != nil:
		return s.respondInteract(ctx, f.Data)
	case f.Type == frameResponse && s.screen != nil:
		return s.respondEventPair(ctx, f.Data)
	case f.Type == frameRequest && s.asker != nil:
		return s.asks(ctx, f.Data, helpers)
	case f.Type == frameInteractResponse, f.Type == frameResponse, f.Type == frameRequest:
		err = s.c.Forbid("this frame (" + f.Type + ")")
	default:
		err = ask.Refusal(ask.CodeInvalid, ask.FaultUnknownFrame, ask.Clip(f.Type, 80),
			[]string{frameHello, frameInteractResponse, frameResponse, frameRequest, framePing})
	}
	if err != nil {
		return s.complain(ctx, "", err)
	}
	return nil
}

// helloJSON is an optional first frame of a client.
type helloJSON struct {
	Dialect string   `json:"dialect"`
	Open    []string `json:"open"` // asks that it shows or awaits from an earlier connection
	By      string   `json:"by"`
}

// hello sets the dialect and resumes. The error is for the client.
func (s *socket) hello(ctx context.Context, data json.RawMessage, helpers *sync.WaitGroup) error {
	var h helloJSON
	if err := wire.Strict("hello", data, &h); err != nil {
		return err
	}
	if h.By != "" {
		s.name = access.ClipName(h.By)
	}
	if h.Dialect != "" {
		shape, err := shapeOf(h.Dialect)
		if err != nil {
			return err
		}
		if s.asker != nil {
			s.asker.shape = askerShape(shape)
		}
		if s.screen != nil && shape != s.screen.shape {
			s.screen = newScreen(shape)
			s.stale()
		}
	}
	s.resume(h.Open)
	s.begin(ctx, helpers)
	return nil
}

// resume stores what a client had open on an earlier connection.
func (s *socket) resume(ids []string) {
	ids = ids[:min(len(ids), s.server.opts.MaxPerSocket)]
	if s.screen == nil {
		// An agent's socket has one session, and its ids are the host's own.
		s.asker.before = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
		return
	}
	for _, id := range ids {
		k := ask.Key{Tenant: s.scope.tenant, Session: s.scope.session}
		if session, rest, both := strings.Cut(id, "/"); both {
			k.Session, id = ask.Token(session), rest
		}
		k.ID, _ = dialect.SplitFrameID(id)
		if k.Session == "" || !k.Valid() || !s.c.MaySee(k.Tenant, k.Session) {
			continue
		}
		if !slices.Contains(s.screen.before, k) {
			s.screen.before = append(s.screen.before, k)
		}
	}
	if len(ids) > 0 {
		s.stale()
	}
}
