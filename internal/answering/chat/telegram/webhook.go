package telegram

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// PathUpdates is where Telegram calls, below the address of [Options.WebhookURL].
const PathUpdates = "/telegram/updates"

// Bounds of the webhook.
const (
	maxUpdate   = 1 << 20         // bytes of one update
	maxHandled  = 64              // updates at once; Telegram repeats what is refused
	hookChecked = 5 * time.Minute // between two looks at whose webhook is set
)

// secret is what Telegram sends along with each call: all replicas derive it from the token.
func secret(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("askbus-webhook"))
	return hex.EncodeToString(mac.Sum(nil))
}

// checkWebhook returns an error for an address that Telegram does not call.
func checkWebhook(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("telegram: invalid ASKBUS_TELEGRAM_WEBHOOK_URL %q: give one like https://askbus.example.com", address)
	case net.ParseIP(u.Hostname()).IsLoopback() || u.Hostname() == "localhost":
		return fmt.Errorf("telegram: invalid ASKBUS_TELEGRAM_WEBHOOK_URL %q: Telegram cannot reach this machine's own address", address)
	}
	return nil
}

func (s *App) hook() string { return strings.TrimRight(s.webhook, "/") + PathUpdates }

// Keep sets the webhook, and looks from time to time whether it is still ours; without one it returns at once. A webhook
// that somebody else has set meanwhile is named, not replaced.
func (s *App) Keep(ctx context.Context) error {
	if s.webhook == "" {
		return nil
	}
	s.Retry(ctx, func(ctx context.Context) (err error) {
		defer func() { s.polled.Store(&err) }()
		if _, err = s.Connect(ctx); err != nil {
			return err
		}
		_, err = s.api.bot.SetWebhook(ctx, &bot.SetWebhookParams{URL: s.hook(), SecretToken: s.secret, AllowedUpdates: []string{"message", "callback_query"}})
		return s.api.plain(err)
	})
	for backoff.Sleep(ctx, hookChecked) == nil {
		info, err := s.api.bot.GetWebhookInfo(ctx)
		switch {
		case errors.Is(err, bot.ErrorUnauthorized):
			err = errRevoked
		case err != nil:
			continue // it is not known
		case info.URL != s.hook():
			err = errors.New("another process has set a webhook or removed this one; stop one of the two, or give each a bot of its own")
		}
		s.polled.Store(&err)
	}
	return nil
}

// plain removes the token from an error, in which addresses have it.
func (a *api) plain(err error) error {
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return &url.Error{Op: sent.Op, URL: strings.ReplaceAll(sent.URL, a.base, "…/"), Err: sent.Err}
	}
	return err
}

// Handler takes Telegram's calls at [PathUpdates]; any number of replicas may. Telegram repeats what was not acknowledged,
// perhaps to another replica. That is harmless: an answer has its query's id, and a step begins with what the message
// carried when it was pressed.
func (s *App) Handler() http.Handler {
	busy := make(chat.Busy, maxHandled)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathUpdates, func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Telegram-Bot-Api-Secret-Token")), []byte(s.secret)) != 1 {
			s.RefuseRequest(r, ask.CodeUnauthorized, "the secret token is missing or wrong")
			http.Error(w, "this address is for Telegram", http.StatusUnauthorized)
			return
		}
		if !busy.Admit(w) {
			return
		}
		defer busy.End()
		var u models.Update
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUpdate)).Decode(&u); err != nil {
			http.Error(w, "the update is not JSON, or too large", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), handleFor)
		defer cancel()
		s.happened(ctx, &u)
	})
	return mux
}
