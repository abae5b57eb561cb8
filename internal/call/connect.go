package call

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect connects as a user, or with a .creds file, and reconnects for ever.
func Connect(url, user, password, credsFile, inboxPrefix string, logger *slog.Logger, extra ...nats.Option) (*nats.Conn, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
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
		opts = append(opts, nats.CustomInboxPrefix(inboxPrefix))
	}
	if credsFile != "" {
		opts = append(opts, nats.UserCredentials(credsFile))
	} else {
		opts = append(opts, nats.UserInfo(user, password))
	}
	nc, err := nats.Connect(url, append(opts, extra...)...)
	if errors.Is(err, nats.ErrAuthorization) || err != nil && strings.Contains(err.Error(), "Authorization Violation") {
		return nil, errors.New("the server refused the credential of " + user + "; get a fresh one from \"askbus creds\"")
	}
	return nc, err
}
