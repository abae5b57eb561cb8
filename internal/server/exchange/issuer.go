package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Verifier returns what a JWT grants to the user whose key NATS checked. It
// must be safe for concurrent use.
type Verifier interface {
	Verify(token, user string, now time.Time) (assertion.Grant, error)
}

// Options are the dependencies of an [Issuer]. Source, Tokens and Sign are
// required.
type Options struct {
	Source *Source
	// Tokens checks an API token. If the error is not an [*ask.Error], tokens
	// cannot be checked.
	Tokens func(ctx context.Context, secret string) (Proof, error)
	// Sign makes the credential of a grant, as JSON, and returns its public
	// key. address is where its holder reaches the bus, if the rules set it.
	Sign func(g Grant, address string) (credential []byte, key string, err error)

	// Person returns the person who is signed in at a terminal, by the key of
	// its sign-in and the tenant that it is stored under, if any; and the
	// tenant for which they may have a credential, given the requested one. The
	// error is [ask.ErrNotFound] if the sign-in has ended. Nil: no credentials
	// for people.
	Person func(ctx context.Context, of, terminal, tenant string) (Person, error)
	// Verifier checks the credentials of web inboxes; required with Person.
	Verifier Verifier

	// Refused is called for each refused exchange: what was requested, whose
	// token it was as far as it was verified, and why. It must not block.
	// Default: none.
	Refused func(what string, proof Proof, e *ask.Error)

	PerSubject int              // credentials per minute for one subject of one issuer; default 300
	Now        func() time.Time // default: time.Now
	Logger     *slog.Logger     // default: discard
}

// Bounds of an issuer's work.
const (
	atOnce      = 32 // concurrent exchanges
	ofProvider  = atOnce / 2
	loggedAtAll = 120 // refusals in its log per minute; the audit has all callers
)

// Issuer exchanges tokens for credentials, for the gateways of a bus.
type Issuer struct {
	nc     *nats.Conn
	opts   Options
	taken  *ratelimit.PerMinute
	people *ratelimit.PerMinute
	slots  chan struct{}
	logged *ratelimit.PerMinute

	mu      sync.Mutex
	waiting map[string]int // exchanges in progress, by the issuer that the token claims
}

// New makes an issuer over a connection with the issuer's credential. It starts
// nothing.
func New(nc *nats.Conn, opts Options) *Issuer {
	if opts.PerSubject <= 0 {
		opts.PerSubject = 300
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Issuer{nc: nc, opts: opts, taken: ratelimit.New(opts.PerSubject), people: ratelimit.New(perPerson), slots: make(chan struct{}, atOnce), logged: ratelimit.New(loggedAtAll), waiting: map[string]int{}}
}

// answerWithin is the limit of one exchange: the server drops replies after five
// seconds.
const answerWithin = 4 * time.Second

// Run answers until ctx ends. It finishes running exchanges.
func (i *Issuer) Run(ctx context.Context) error {
	var under sync.WaitGroup
	defer under.Wait()
	take := func(m *nats.Msg) {
		if !subject.IssueReplyAllowed(m.Subject, m.Reply) { // the issuer's own permissions would allow any reply subject
			i.opts.Logger.Warn("dropped a request with a foreign reply subject", slog.String("subject", m.Subject))
			return
		}
		select {
		case i.slots <- struct{}{}:
			under.Go(func() {
				defer func() { <-i.slots }()
				i.answer(context.WithoutCancel(ctx), m)
			})
		default:
			i.refuse(m, ask.Refuse(ask.CodeUnavailable, "%d exchanges are in progress, the maximum of the issuer; try again", cap(i.slots)))
		}
	}
	for _, s := range []string{subject.Exchange, subject.PersonAll, subject.PersonOfTenants} {
		sub, err := i.nc.QueueSubscribe(s, "issuer", take) // one of the issuers handles each request
		if err != nil {
			return err
		}
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone
	}
	<-ctx.Done()
	return nil
}

// swapRequest is a request that a gateway forwards.
type swapRequest struct {
	Token   string `json:"token"`
	Session string `json:"session,omitempty"`
	SealFor string `json:"seal_for"` // the gateway's curve key, to which the reply is encrypted
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
		_ = m.Respond(credential) // the sender is gone
		return
	}
	e, ok := errors.AsType[*ask.Error](err)
	if !ok {
		i.opts.Logger.Error("cannot issue a credential", slog.Any("error", err))
		e = ask.Refuse(ask.CodeUnavailable, "the token cannot be checked now; see the issuer's log")
	} else {
		level := slog.LevelWarn
		if string(m.Data) == "{}" || !i.logged.Take("", i.opts.Now()) {
			level = slog.LevelDebug // "askbus doctor" sends no token, and strangers could fill the log
		}
		i.opts.Logger.Log(ctx, level, "refused an exchange", slog.String("code", e.Code), slog.String("detail", e.Detail), slog.String("issuer", proof.Provider), slog.String("token_subject", ask.CleanText(proof.Subject)))
		if i.opts.Refused != nil {
			i.opts.Refused(what, proof, e)
		}
	}
	i.refuse(m, e)
}

func (i *Issuer) swap(ctx context.Context, data []byte) (proof Proof, credential []byte, err error) {
	var r swapRequest
	if err := json.Unmarshal(data, &r); err != nil || r.Token == "" {
		return proof, nil, ask.Refuse(ask.CodeInvalid, "the request is malformed")
	}
	if err := sealable(r.SealFor); err != nil {
		return proof, nil, err
	}
	if err := tooLong(r.Token); err != nil {
		return proof, nil, err
	}
	if strings.HasPrefix(r.Token, tokenPrefix) {
		proof, err = i.opts.Tokens(ctx, r.Token)
	} else {
		proof, err = i.verify(ctx, r.Token)
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
		return proof, nil, ask.Refuse(ask.CodeQuota, "%.200q has received %d credentials in this minute, the maximum; keep the one you have until it expires", proof.Subject, i.opts.PerSubject)
	}
	plain, key, err := i.opts.Sign(grant, rules.NATSURL)
	if err != nil {
		return proof, nil, err
	}
	if credential, err = seal(plain, r.SealFor); err != nil {
		return proof, nil, err
	}
	i.opts.Logger.Info("issued a credential", slog.String("key", key), slog.String("role", grant.Role), slog.String("tenant", grant.Tenant), slog.String("session", grant.Session),
		slog.Duration("life", grant.Life), slog.String("issuer", proof.Provider), slog.String("token_subject", ask.CleanText(proof.Subject)))
	return proof, credential, nil
}

// verify verifies a JWT. Fetching an issuer's keys may take time, and anybody can
// send tokens that name it, so the tokens of one issuer get at most half of the
// slots.
func (i *Issuer) verify(ctx context.Context, raw string) (Proof, error) {
	name := i.opts.Source.provider(raw)
	i.mu.Lock()
	full := i.waiting[name] >= ofProvider
	if !full {
		i.waiting[name]++
	}
	i.mu.Unlock()
	if full {
		return Proof{}, ask.Refuse(ask.CodeUnavailable, "%d tokens of %q are being verified, the maximum for one issuer; try again", ofProvider, name)
	}
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.waiting[name]--; i.waiting[name] == 0 {
			delete(i.waiting, name)
		}
	}()
	return i.opts.Source.verify(ctx, raw)
}

func tooLong(token string) error {
	if len(token) > MaxToken {
		return ask.Refuse(ask.CodeTooLarge, "the token has %d bytes; send at most %d", len(token), MaxToken)
	}
	return nil
}

func (i *Issuer) refuse(m *nats.Msg, e *ask.Error) { _ = m.RespondMsg(connection.Refuse(e)) } // the sender may be gone
