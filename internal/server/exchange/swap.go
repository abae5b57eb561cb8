package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// swapWithin is how long a gateway waits for an issuer.
const swapWithin = answerWithin + 2*time.Second

// Swap exchanges a token for the credential of a session at an issuer, and
// returns it as JSON. The connection has the gateway's credential, and no other
// receiver of gateways' replies can read this one. The error is an
// [*ask.Error].
func Swap(ctx context.Context, nc *nats.Conn, token, session string) ([]byte, error) {
	if err := tooLong(token); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(token, tokenPrefix) {
		if _, err := issuerOf(token); err != nil { // an issuer is not asked about nonsense
			return nil, err
		}
	}
	return request(ctx, nc, func(sealFor string) (*nats.Msg, error) {
		body, err := json.Marshal(swapRequest{Token: token, Session: session, SealFor: sealFor})
		return &nats.Msg{Subject: subject.Exchange, Data: body}, err
	})
}

// request sends a request to an issuer and decrypts its reply, which is
// encrypted to a key of this request.
func request(ctx context.Context, nc *nats.Conn, build func(sealFor string) (*nats.Msg, error)) ([]byte, error) {
	own, err := nkeys.CreateCurveKeys()
	if err != nil {
		return nil, err
	}
	defer own.Wipe()
	public, err := own.PublicKey()
	if err != nil {
		return nil, err
	}
	m, err := build(public)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, swapWithin)
	defer cancel()
	// Once: the sender of the token retries, and a refusal is not repeated
	// here.
	reply, err := nc.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return nil, ask.Refuse(ask.CodeUnavailable, "no issuer answers; is \"askbus issuer\" running?")
	case err != nil:
		return nil, err
	}
	if err := connection.Refusal(reply); err != nil {
		return nil, err
	}
	return unseal(reply.Data, own)
}
