package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// keys holds the keys that are derived from the cookie key, one per purpose, so
// that a cookie is never valid as a login link. The cookie's name and the host
// of the pages are derived as well, because browsers share cookies between the
// ports of a host.
type keys struct {
	cookie, login, invite, flow []byte
	reach                       []byte
	cookieName                  string
	host                        string // see [HostOf]
}

func deriveKeys(cookieKey []byte) (keys, error) {
	if len(cookieKey) < 32 {
		return keys{}, fmt.Errorf("web: the cookie key has %d bytes; give at least 32", len(cookieKey))
	}
	return keys{
		cookie:     derive(cookieKey, "askbus web cookie v1"),
		login:      derive(cookieKey, "askbus web login v1"),
		invite:     derive(cookieKey, "askbus web invite v1"),
		flow:       derive(cookieKey, "askbus web flow v1"),
		reach:      derive(cookieKey, "askbus web reach v1"),
		cookieName: "askbus_" + hex.EncodeToString(derive(cookieKey, "askbus web cookie name v1")[:4]),
		host:       hostFrom(cookieKey),
	}, nil
}

// sign returns the session cookie: the session id and its MAC. It is valid only
// at a place; see [Server.place].
func (k *keys) sign(id, place string) string {
	if place != "" {
		place = " at " + place
	}
	return id + "." + base64.RawURLEncoding.EncodeToString(derive(k.cookie, "session "+id+place)[:16])
}

// signed verifies a cookie at a place and returns its session id.
func (k *keys) signed(cookie, place string) (id string, ok bool) {
	if len(cookie) > 200 {
		return "", false
	}
	id, _, ok = strings.Cut(cookie, ".")
	return id, ok && hmac.Equal([]byte(cookie), []byte(k.sign(id, place)))
}

func derive(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// pass is the signed content of a login link or an invitation.
type pass struct {
	ID        string     `json:"id,omitempty"`
	Principal string     `json:"p,omitempty"`
	Name      string     `json:"n,omitempty"`
	Groups    []string   `json:"g,omitempty"`
	Proof     string     `json:"f,omitempty"`
	Access    ask.Access `json:"a"` // null means everything
	Issued    int64      `json:"iat"`
	Expires   int64      `json:"exp"`
}

// maxPass keeps a link within the length that browsers accept.
const maxPass = 3500

var errPass = errors.New("not signed by this inbox, or expired")

func (p pass) by() ask.By {
	return ask.By{Principal: p.Principal, Name: p.Name, Groups: p.Groups, Proof: p.Proof}
}

func passFor(by ask.By, now time.Time, life time.Duration) pass {
	return pass{
		Principal: by.Principal, Name: by.Name, Groups: by.Groups, Proof: by.Proof,
		Issued: now.Unix(), Expires: now.Add(life).Unix(),
	}
}

func (p pass) seal(key []byte) (string, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("web: seal: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	sealed := text + "." + base64.RawURLEncoding.EncodeToString(derive(key, text))
	if len(sealed) > maxPass {
		return "", fmt.Errorf("web: %s has too many groups for a login link (%d of %d bytes)", p.Principal, len(sealed), maxPass)
	}
	return sealed, nil
}

func unseal(sealed string, key []byte, now time.Time) (pass, error) {
	text, mac, ok := strings.Cut(sealed, ".")
	if !ok || len(sealed) > maxPass {
		return pass{}, errPass
	}
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, derive(key, text)) {
		return pass{}, errPass
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return pass{}, errPass
	}
	var p pass
	if err := json.Unmarshal(body, &p); err != nil {
		return pass{}, errPass
	}
	if at := now.Unix(); at >= p.Expires || at < p.Issued-60 {
		return pass{}, errPass
	}
	return p, nil
}
