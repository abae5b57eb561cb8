package faketelegram

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// setWebhook sets where updates are sent. Telegram takes https only, and a secret of its letters. It checks certificates and
// calls four ports only, which this fake cannot.
func (s *Server) setWebhook(address, secret string) error {
	if address != "" && !strings.HasPrefix(address, "https://") {
		return errors.New("Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
	}
	if len(secret) > 256 || strings.Trim(secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return errors.New("Bad Request: secret token contains unallowed characters")
	}
	s.webhook, s.secret = address, secret
	for _, u := range s.updates {
		s.deliver(u)
	}
	s.updates = nil
	return nil
}

// Resolve makes a host of a webhook lead to an address.
func (s *Server) Resolve(host, address string) { s.locked(func() { s.hosts[host] = address }) }

// Conflicts returns how many polls were ended by another one.
func (s *Server) Conflicts() (n int) {
	s.locked(func() { n = s.conflicts })
	return n
}

// RepeatUpdates makes Telegram send each update of a webhook n times, as it does when an acknowledgement is lost.
func (s *Server) RepeatUpdates(n int) { s.locked(func() { s.repeats = n }) }

// deliver sends an update to the webhook until it is acknowledged. The caller holds mu.
func (s *Server) deliver(update map[string]any) {
	body, _ := json.Marshal(update) // strings and numbers
	to, secret, repeats := s.webhook, s.secret, max(s.repeats, 1)
	if u, err := url.Parse(to); err == nil && s.hosts[u.Hostname()] != "" {
		u.Host = s.hosts[u.Hostname()]
		to = u.String()
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, Timeout: 30 * time.Second} //nolint:gosec // tests have no certificate
	s.sending.Go(func() {
		for try := 0; repeats > 0 && try < 100; try++ {
			req, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(body)) //nolint:noctx // ended by its timeout
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
			res, err := client.Do(req)
			if err == nil {
				_ = res.Body.Close()
			}
			if err == nil && res.StatusCode/100 == 2 {
				repeats--
				continue
			}
			time.Sleep(20 * time.Millisecond) // Telegram tries "a reasonable amount of attempts"
		}
	})
}
