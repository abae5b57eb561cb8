package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/ratelimit"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Verifier says what a JWT grants to the user whose key NATS checked. It must be
// safe for concurrent use.
type Verifier interface {
	Verify(token, user string, now time.Time) (identity.Grant, error)
}

// Options are what an [Issuer] needs. Source, Tokens and Sign are required.
type Options struct {
	Source *Source
	// Tokens checks an API token. The error is an [*ask.Error], or says that tokens
	// cannot be checked.
	Tokens func(ctx context.Context, secret string) (Proof, error)
	// Sign makes the credential of a grant, as JSON, and says its public key. The
	// address is where its holder reaches the bus, if the rules say.
	Sign func(g Grant, address string) (credential []byte, key string, err error)

	// Person says who is signed in at a terminal, by the name of its sign-in and the
	// tenant under which that lies, if one; and for which tenant they may have a
	// credential, who ask for one of a tenant. The error is [ask.ErrNotFound] when
	// the sign-in has ended. Nil: people get none.
	Person func(ctx context.Context, of, terminal, tenant string) (Person, error)
	// Verifier checks the credentials of web inboxes; required with Person.
	Verifier Verifier

	// Refused is told of exchanges that are refused: what was asked for, whose token
	// it was as far as that was verified, and why. It may not wait. Default: nobody.
	Refused func(what string, proof Proof, e *ask.Error)

	PerSubject int              // credentials for one subject of one issuer in a minute; default 300
	AtOnce     int              // exchanges under way; default 32
	Now        func() time.Time // default: time.Now
	Logger     *slog.Logger     // default: discard
}

// Issuer swaps tokens for credentials, for the gateways of a bus.
type Issuer struct {
	nc     *nats.Conn
	opts   Options
	taken  *ratelimit.PerMinute
	people *ratelimit.PerMinute
	slots  chan struct{}
}

// New makes an issuer over a connection with the issuer's credential. It starts
// nothing.
func New(nc *nats.Conn, opts Options) *Issuer {
	if opts.PerSubject <= 0 {
		opts.PerSubject = 300
	}
	if opts.AtOnce <= 0 {
		opts.AtOnce = 32
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Issuer{nc: nc, opts: opts, taken: ratelimit.New(opts.PerSubject), people: ratelimit.New(perPerson), slots: make(chan struct{}, opts.AtOnce)}
}

// answerWithin is how long one exchange takes at most: a reply later than 5 s is
// one that the server does not let pass.
const answerWithin = 4 * time.Second

// queue is the group of issuers: one of them takes each request.
const queue = "issuer"

// Run answers until ctx ends. Exchanges under way are finished.
func (i *Issuer) Run(ctx context.Context) error {
	var under sync.WaitGroup
	defer under.Wait()
	take := func(m *nats.Msg) {
		if !subject.IssueReplyAllowed(m.Subject, m.Reply) { // the issuer may answer wherever it is asked to
			i.opts.Logger.Warn("a request names a reply subject that is not the sender's", slog.String("subject", m.Subject))
			return
		}
		select {
		case i.slots <- struct{}{}:
			under.Go(func() {
				defer func() { <-i.slots }()
				i.answer(context.WithoutCancel(ctx), m)
			})
		default:
			i.refuse(m, ask.Refuse(ask.CodeUnavailable, "%d exchanges are under way, which is as many as the issuer takes; try again", cap(i.slots)))
		}
	}
	for _, s := range []string{subject.Exchange, subject.PersonAll} {
		sub, err := i.nc.QueueSubscribe(s, queue, take)
		if err != nil {
			return err
		}
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone
	}
	<-ctx.Done()
	return nil
}

// swapRequest is what a gateway forwards.
type swapRequest struct {
	Token   string `json:"token"`
	Session string `json:"session,omitempty"`
	SealFor string `json:"seal_for"` // the gateway's curve key, which the reply is encrypted for
}

func (i *Issuer) answer(ctx context.Context, m *nats.Msg) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var proof Proof
	var credential []byte
	var err error
	what := "exchange"
	if m.Subject == subject.Exchange {
		proof, credential, err = i.swap(ctx, m.Data)
	} else {
		what = "credential of a terminal"
		credential, err = i.person(ctx, m)
	}
	if err == nil {
		_ = m.Respond(credential) // nobody is left to be told
		return
	}
	e, ok := errors.AsType[*ask.Error](err)
	if !ok {
		i.opts.Logger.Error("a credential cannot be issued", slog.Any("error", err))
		e = ask.Refuse(ask.CodeUnavailable, "nothing can be checked just now; the issuer's log says why")
	} else {
		i.opts.Logger.Warn("an exchange is refused", slog.String("code", e.Code), slog.String("detail", e.Detail), slog.String("issuer", proof.Provider), slog.String("token_subject", ask.CleanText(proof.Subject)))
		if i.opts.Refused != nil {
			i.opts.Refused(what, proof, e)
		}
	}
	i.refuse(m, e)
}

func (i *Issuer) swap(ctx context.Context, data []byte) (proof Proof, credential []byte, err error) {
	var r swapRequest
	if err := json.Unmarshal(data, &r); err != nil || r.Token == "" {
		return proof, nil, ask.Refuse(ask.CodeInvalid, "the request is damaged")
	}
	if err := sealable(r.SealFor); err != nil {
		return proof, nil, err
	}
	if err := tooLong(r.Token); err != nil {
		return proof, nil, err
	}
	if strings.HasPrefix(r.Token, "askb_") {
		proof, err = i.opts.Tokens(ctx, r.Token)
	} else {
		proof, err = i.opts.Source.verify(ctx, r.Token)
	}
	if err != nil {
		return proof, nil, err
	}
	now := i.opts.Now()
	rules, _ := i.opts.Source.current()
	grant, err := rules.Decide(proof, r.Session, now)
	if err != nil {
		return proof, nil, err
	}
	if !i.taken.Take(proof.Provider+" "+proof.Subject, now) {
		return proof, nil, ask.Refuse(ask.CodeQuota, "%d credentials in this minute for %.200q are enough; keep the one you have until it expires", i.opts.PerSubject, proof.Subject)
	}
	plain, key, err := i.opts.Sign(grant, rules.NATSURL)
	if err != nil {
		return proof, nil, err
	}
	if credential, err = seal(plain, r.SealFor); err != nil {
		return proof, nil, err
	}
	i.opts.Logger.Info("a credential is issued", slog.String("key", key), slog.String("role", grant.Role), slog.String("tenant", grant.Tenant), slog.String("session", grant.Session),
		slog.Duration("life", grant.Life), slog.String("issuer", proof.Provider), slog.String("token_subject", ask.CleanText(proof.Subject)))
	return proof, credential, nil
}

func tooLong(token string) error {
	if len(token) > MaxToken {
		return ask.Refuse(ask.CodeTooLarge, "the token has %d bytes; at most %d", len(token), MaxToken)
	}
	return nil
}

// refuse replies with a problem body, as the broker does.
func (i *Issuer) refuse(m *nats.Msg, e *ask.Error) {
	_ = m.RespondMsg(&nats.Msg{Data: wire.EncodeProblem(e), Header: nats.Header{ // nobody is left to be told
		micro.ErrorCodeHeader: []string{strconv.Itoa(wire.HTTPStatus(e.Code))}, micro.ErrorHeader: []string{e.Code}, "Content-Type": []string{wire.TypeProblem},
	}})
}
