package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
)

// PathInteractions is the path of the endpoint for interactions.
const PathInteractions = "/discord/interactions"

// maxSkew bounds the time of a request, so that nobody can send it again later.
const maxSkew = 5 * time.Minute

// Handler serves Discord's requests. Any replica serves any of them. It refuses what is not signed with the
// application's key; Discord tries that, and does not accept an address that lets it pass.
func (s *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathInteractions, s.serveInteraction)
	return mux
}

func (s *App) serveInteraction(w http.ResponseWriter, r *http.Request) {
	body, ok := chat.ReadBody(w, r)
	if !ok {
		return
	}
	if !s.signed(r.Header, body) {
		s.RefuseRequest(r, ask.CodeUnauthorized, "wrong signature, or too old")
		http.Error(w, "invalid request signature", http.StatusUnauthorized)
		return
	}
	in, err := readInteraction(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	send := func(_ context.Context, r reply) error {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(r)
	}
	if in.Type == typePing {
		_ = send(r.Context(), reply{Type: replyPong}) // Discord sends it again
		return
	}
	if !s.begin(in) {
		http.Error(w, "too many at once, or the same again", http.StatusServiceUnavailable)
		return
	}
	replied := make(chan struct{})
	s.after.Go(func() { //nolint:contextcheck // it outlives the request
		defer s.busy.End()
		s.inTime(r.Context(), in, func(ctx context.Context, r reply) error {
			defer close(replied) // what is told later is a call of its own
			return send(ctx, r)
		})
	})
	<-replied
}

// signed reports whether a request is signed with the application's key, recently.
func (s *App) signed(h http.Header, body []byte) bool {
	stamp := h.Get("X-Signature-Timestamp")
	sig, err := hex.DecodeString(h.Get("X-Signature-Ed25519"))
	if err != nil || len(sig) != ed25519.SignatureSize || len(s.key) != ed25519.PublicKeySize {
		return false
	}
	if !ed25519.Verify(s.key, append([]byte(stamp), body...), sig) {
		return false
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() < maxSkew
}
