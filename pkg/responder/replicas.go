package responder

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
)

// replicaBeat is how often a replica says that it lives. The others stop counting one
// that died without a word after three beats.
const replicaBeat = 10 * time.Second

// shareLimits divides the limiter's paces by the number of living replicas with the same
// account, until ctx ends. While shared state cannot be read it leaves them as they are.
func (s *Server) shareLimits(ctx context.Context) {
	o := &s.r.opts
	if s.opts.Account == "" || o.Session != "" { // a credential of one session has no shared state
		return
	}
	sum := sha256.Sum256([]byte("askbus replicas\x00" + s.opts.Account))
	own := state.Key{Tenant: o.Tenant, Name: s.r.typ + "." + base64.RawURLEncoding.EncodeToString(sum[:18]) + "." + cloudevent.NewID()}
	bucket := state.Open(s.r.nc, state.Responder(s.r.typ, o.Tenant), state.Replicas)
	changed := make(chan struct{}, 1)
	cache := state.NewCache(bucket, state.CacheOptions{Poll: s.beat, Logger: o.Logger, Changed: func(_, _ *state.Entry) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() {
		if err := cache.Run(ctx); err != nil {
			o.Logger.WarnContext(ctx, "cannot follow the replicas that share the limits", slog.Any("error", err))
		}
	})
	tick := time.NewTicker(s.beat)
	defer tick.Stop()
	written, rivals := false, false
	for {
		one, cancel := context.WithTimeout(ctx, s.beat)
		_, err := bucket.Put(one, own, struct{}{}, 3*s.beat+s.beat/2)
		cancel()
		if written = written || err == nil; err != nil && ctx.Err() == nil {
			o.Logger.WarnContext(ctx, "cannot tell other replicas that this one shares the limits", slog.Any("error", err))
		}
		for beat := false; !beat; {
			was := rivals
			if rivals = s.divide(cache, own); rivals && !was {
				o.Logger.WarnContext(ctx, "another account of this service is served as the same responder type: each ask is posted by one of them, and the other cannot edit what it posted, so that old buttons stay. Give one of them a type of its own, or stop it", slog.String("responder", s.r.typ), slog.String("type", ask.SurfaceKind(s.r.typ)+"-NAME"))
			}
			select {
			case <-ctx.Done():
				if written {
					last, done := connection.WithGrace(ctx, time.Second)
					_ = bucket.Delete(last, own) // or it expires
					done()
				}
				return
			case <-changed:
			case <-tick.C:
				beat = true
			}
		}
	}
}

// divide counts the living replicas with this account: this one, and the others that the cache holds, of whatever type
// of this kind. It reports whether there are replicas of this type with another account: work is shared by type.
func (s *Server) divide(cache *state.Cache, own state.Key) (rivals bool) {
	all, err := cache.All()
	if err != nil {
		return false
	}
	n, account := 1, strings.Split(own.Name, ".")[1]
	for i := range all {
		k := all[i].Key
		parts := strings.Split(k.Name, ".")
		if k == own || k.Tenant != own.Tenant || len(parts) != 3 { // of two parts is what one replica does alone
			continue
		}
		switch typ := parts[0]; {
		case parts[1] == account && ask.SurfaceKind(typ) == ask.SurfaceKind(s.r.typ):
			n++
		case typ == s.r.typ:
			rivals = true
		}
	}
	s.limiter.SetReplicas(n)
	return rivals
}
