package connection

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/protocol/subject"
)

// HeaderToken is the id of the API token on whose behalf a gateway asks or
// votes: the audit names it, and revoking it ends its votes. The broker takes it
// from gateways only.
const HeaderToken = "Askbus-Token"

type tokenKey struct{}

// ForToken returns a context whose calls say on behalf of which API token a
// gateway makes them. The id is read when a request is sent; empty: none.
func ForToken(ctx context.Context, id func() string) context.Context {
	return context.WithValue(ctx, tokenKey{}, id)
}

// tokenOf returns the id of the token in ctx for what a gateway asks or answers,
// else nothing.
func tokenOf(ctx context.Context, subj string) string {
	id, ok := ctx.Value(tokenKey{}).(func() string)
	if !ok || !strings.HasPrefix(subj, subject.Responders+"."+subject.TypeGateway+".") {
		return ""
	}
	r, err := subject.Parse(subj)
	if err != nil {
		return ""
	}
	switch r.Verb {
	case subject.VerbAsk, subject.VerbAnswer, subject.VerbCancel, subject.VerbUnvote:
		return id()
	}
	return ""
}
