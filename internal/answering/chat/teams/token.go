package teams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// connector checks that a request comes from the Bot Connector.
type connector struct {
	http     *http.Client
	metadata string // address of the OpenID metadata
	app      string
	now      func() time.Time

	mu    sync.Mutex
	keys  []key
	read  time.Time
	tried time.Time // to read them
}

// key is a signing key of the connector, and the channels for which it may sign.
type key struct {
	jose.JSONWebKey
	Endorsements []string
}

// UnmarshalJSON reads both.
func (k *key) UnmarshalJSON(data []byte) error {
	var more struct {
		Endorsements []string `json:"endorsements"`
	}
	err := errors.Join(k.JSONWebKey.UnmarshalJSON(data), json.Unmarshal(data, &more))
	k.Endorsements = more.Endorsements
	return err
}

// Bounds of the connector's keys.
const (
	issuer    = "https://api.botframework.com"
	channelID = "msteams"
	skew      = 300 * time.Second
	keysLive  = 24 * time.Hour
	keysDead  = 5 * keysLive     // while they cannot be read again
	keysAgain = 30 * time.Second // an unknown key makes them be read again, not more often
	maxKeys   = 1 << 20          // bytes
)

// check returns why a request may not come from the connector, or nil. The service URL and the channel are those of the
// body: what is answered goes to that address, so the token must name it.
func (c *connector) check(ctx context.Context, header, service, channel string) error {
	raw, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return errors.New("no bearer token")
	}
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return errors.New("not a token signed with RS256")
	}
	k, err := c.key(ctx, token.Headers[0].KeyID)
	if err != nil {
		return err
	}
	var claims struct {
		jwt.Claims
		ServiceURL string `json:"serviceurl"`
	}
	if err := token.Claims(k.Key, &claims); err != nil {
		return errors.New("wrong signature")
	}
	if claims.Expiry == nil {
		return errors.New("the token does not expire")
	}
	audience := jwt.Audience{c.app, "api://botid-" + c.app, "api://" + c.app}
	if err := claims.ValidateWithLeeway(jwt.Expected{Issuer: issuer, AnyAudience: audience, Time: c.now()}, skew); err != nil {
		return fmt.Errorf("claims: %w", err)
	}
	switch {
	case claims.ServiceURL == "" || strings.TrimRight(claims.ServiceURL, "/") != strings.TrimRight(service, "/"):
		return errors.New("the token is for another serviceUrl")
	case channel != channelID, len(k.Endorsements) > 0 && !slices.Contains(k.Endorsements, channel): // as Microsoft's own library has it
		return errors.New("the key may not sign for this channel")
	}
	return nil
}

// key returns a signing key.
func (c *connector) key(ctx context.Context, id string) (*key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	find := func() *key {
		for i := range c.keys {
			if c.keys[i].KeyID == id && c.keys[i].IsPublic() {
				return &c.keys[i]
			}
		}
		return nil
	}
	now, known := c.now(), find()
	if known != nil && now.Sub(c.read) < keysLive {
		return known, nil
	}
	var err error
	if c.tried.IsZero() || now.Sub(c.tried) >= keysAgain {
		c.tried = now
		err = c.load(ctx)
	}
	switch k := find(); {
	case k != nil && now.Sub(c.read) < keysDead:
		return k, nil
	case err != nil:
		return nil, fmt.Errorf("keys of the connector: %w", err)
	}
	return nil, errors.New("unknown key")
}

// load reads the keys. The caller holds mu.
func (c *connector) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var metadata struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := c.get(ctx, c.metadata, &metadata); err != nil {
		return err
	}
	if metadata.Issuer != issuer {
		return fmt.Errorf("the metadata is of the issuer %q", metadata.Issuer)
	}
	var set struct {
		Keys []key `json:"keys"`
	}
	if err := c.get(ctx, metadata.Keys, &set); err != nil {
		return err
	}
	c.keys, c.read = set.Keys, c.now()
	return nil
}

func (c *connector) get(ctx context.Context, address string, into any) error {
	res, err := (&chat.Request{Method: http.MethodGet, URL: address, Most: maxKeys}).Do(ctx, c.http)
	switch {
	case err != nil:
		return err
	case res.Status != http.StatusOK:
		return fmt.Errorf("status %d", res.Status)
	}
	return json.Unmarshal(res.Data, into)
}
