package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/client"
)

// Limits of a token exchange.
const (
	ExchangeLimit = 20 * time.Second
	maxCredential = 64 << 10 // bytes
)

// exchanged returns a credential that a gateway issues for a token. Each renewal reads the token
// file again.
func (a *App) exchanged() (client.Credential, error) {
	if a.Creds != "" {
		return client.Credential{}, Usage("ASKBUS_EXCHANGE_URL and ASKBUS_CREDS are both set; use one of them")
	}
	swap := func() (client.Credential, error) {
		ctx, cancel := context.WithTimeout(context.Background(), ExchangeLimit)
		defer cancel()
		web, err := Trusting(a.Exchange.CAFile)
		if err != nil {
			return client.Credential{}, Usage("ASKBUS_EXCHANGE_CA_FILE: %w", err)
		}
		defer web.CloseIdleConnections()
		return SwapToken(ctx, web, a.Exchange.URL, a.Exchange.TokenFile, a.Session)
	}
	c, err := swap()
	c.Renew = func() (string, error) {
		c, err := swap()
		return c.Creds, err
	}
	return c, err
}

// SwapToken sends the token of a file to a gateway and returns the credential for a session, or
// without a session for the only one that the token covers.
func SwapToken(ctx context.Context, web *http.Client, gateway, file, session string) (c client.Credential, err error) {
	if file == "" {
		return c, Usage("ASKBUS_EXCHANGE_TOKEN_FILE is missing; name the file of the token that ASKBUS_EXCHANGE_URL swaps")
	}
	token, err := os.ReadFile(file)
	if err != nil {
		return c, Usage("ASKBUS_EXCHANGE_TOKEN_FILE: %w", err)
	}
	at := strings.TrimRight(gateway, "/") + "/v1/credentials"
	if session != "" {
		at += "?session=" + url.QueryEscape(session)
	}
	if _, err := url.Parse(at); err != nil {
		return c, Usage("ASKBUS_EXCHANGE_URL: %w", err)
	}
	body, err := post(ctx, web, at, string(bytes.TrimSpace(token)), nil)
	if err != nil {
		return c, fmt.Errorf("get a credential from %s: %w", gateway, err)
	}
	if err := json.Unmarshal(body, &c); err != nil || c.Creds == "" {
		return c, fmt.Errorf("%s did not return a credential; is it an askbus gateway?", gateway)
	}
	return c, nil
}

// post sends JSON, or nothing, with a bearer's secret if there is one, and returns what comes back. The error is an
// [*ask.Error] if the request is refused.
func post(ctx context.Context, web *http.Client, at, bearer string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := web.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read-only
	data, err := io.ReadAll(io.LimitReader(res.Body, maxCredential))
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return data, nil
	}
	if e := wire.DecodeProblem(data); e != nil {
		return nil, e
	}
	return nil, fmt.Errorf("%s replied %s; is it askbus?", req.URL.Host, res.Status)
}
