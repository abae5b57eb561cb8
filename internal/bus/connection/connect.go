package connection

import (
	"cmp"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect connects with a credential and reconnects for ever, each time with a
// fresh credential if it can get one.
func Connect(c Credential, logger *slog.Logger, extra ...nats.Option) (*nats.Conn, error) {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	login, err := newLogin(c, logger)
	if err != nil {
		return nil, err
	}
	user, inboxPrefix := login.who.Name, c.InboxPrefix
	inboxPrefix = cmp.Or(inboxPrefix, login.who.InboxPrefix)
	opts := []nats.Option{
		nats.Name("askbus " + user), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(200*time.Millisecond, time.Second),
		nats.Timeout(5 * time.Second), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			if errors.Is(err, nats.ErrPermissionViolation) {
				logger.Error("the credential does not allow this", slog.String("user", user), slog.Any("error", err))
				return
			}
			if errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
				logger.Error("the server refuses further subscriptions of this connection: wait in fewer sessions at a time, or use another connection", slog.String("user", user))
				return
			}
			logger.Warn("NATS connection", slog.String("user", user), slog.String("subject", subject), slog.Any("error", err))
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("NATS disconnected; reconnecting", slog.String("user", user), slog.Any("error", err))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.Info("NATS reconnected", slog.String("user", user), slog.String("url", nc.ConnectedUrlRedacted()))
		}),
	}
	if inboxPrefix != "" {
		// Unique for this connection: an agent may use reply subjects below the
		// gateway's and operators' prefixes, so the subjects must not be
		// guessable.
		opts = append(opts, nats.CustomInboxPrefix(inboxPrefix+"."+rand.Text()))
	}
	secure, err := overTLS(c)
	if err != nil {
		return nil, err
	}
	opts = append(opts, secure...)
	opts = append(opts, func(o *nats.Options) error { // nats.UserJWT calls token once more, which would renew it at once
		o.UserJWT, o.SignatureCB = login.token, login.sign
		return nil
	})
	nc, err := nats.Connect(c.URL, append(append(opts, extra...), carry(login))...)
	if errors.Is(err, nats.ErrAuthorization) || err != nil && strings.Contains(err.Error(), "Authorization Violation") {
		return nil, &refusedError{login.who.refused(time.Now())}
	}
	return nc, explain(err)
}

// Refused reports whether the server last refused the credential of a connection.
func Refused(nc *nats.Conn) bool {
	err := nc.LastError()
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked)
}

// refusedError explains why the server refused a credential. It is a
// [nats.ErrAuthorization].
type refusedError struct{ why string }

func (e *refusedError) Error() string { return e.why }

func (e *refusedError) Unwrap() error { return nats.ErrAuthorization }
