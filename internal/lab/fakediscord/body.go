package fakediscord

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

type bodyKey struct{}

func withBody(ctx context.Context, body []byte) context.Context {
	return context.WithValue(ctx, bodyKey{}, body)
}

func bodyOf(r *http.Request) []byte {
	data, _ := r.Context().Value(bodyKey{}).([]byte)
	return data
}

// body reads a request, and returns the nonce of the message that it is about.
func (s *Server) body(r *http.Request) (data []byte, nonce string) {
	data, _ = io.ReadAll(io.LimitReader(r.Body, 8<<20)) // a broken body is invalid
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.find(r.PathValue("channel"), r.PathValue("message")); m != nil {
		return data, m.Nonce
	}
	var in sent
	if json.Unmarshal(data, &in) == nil && in.Nonce != nil {
		nonce = fmt.Sprint(in.Nonce)
	}
	return data, nonce
}
