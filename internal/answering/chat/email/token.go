package email

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// link is what the link of a mail says: who may act on which life of which ask, and until when. It is signed, and not
// secret from everybody who holds the mail.
type link struct {
	Key     ask.Key
	Life    string
	Address string
	Issued  time.Time
	Expires time.Time
}

// Purposes of signatures, so that none can be used for another.
const (
	forLink  = "link"
	forStop  = "stop"
	forReply = "reply"
)

func (s *App) sign(purpose, what string) []byte {
	mac := hmac.New(sha256.New, s.opts.Key)
	mac.Write([]byte("askbus-email-" + purpose + "\x00" + what))
	return mac.Sum(nil)[:16]
}

// seal returns a text with its signature, in letters, digits, "-", "_" and one dot.
func (s *App) seal(purpose, what string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(what)) + "." + base64.RawURLEncoding.EncodeToString(s.sign(purpose, what))
}

// unseal returns the text of what seal returned.
func (s *App) unseal(purpose, token string) (what string, ok bool) {
	body, mac, _ := strings.Cut(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(body)
	given, err2 := base64.RawURLEncoding.DecodeString(mac)
	return string(data), err == nil && err2 == nil && hmac.Equal(given, s.sign(purpose, string(data)))
}

func (s *App) linkToken(l link) string {
	unix := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 36) }
	return s.seal(forLink, strings.Join([]string{l.Key.Tenant, l.Key.Session, l.Key.ID, l.Life, l.Address, unix(l.Issued), unix(l.Expires)}, "\n"))
}

func (s *App) parseLink(token string) (l link, ok bool) {
	what, ok := s.unseal(forLink, token)
	parts := strings.Split(what, "\n")
	if !ok || len(parts) != 7 {
		return l, false
	}
	issued, err := strconv.ParseInt(parts[5], 36, 64)
	expires, err2 := strconv.ParseInt(parts[6], 36, 64)
	l = link{Key: ask.Key{Tenant: parts[0], Session: parts[1], ID: parts[2]}, Life: parts[3], Address: parts[4], Issued: time.Unix(issued, 0), Expires: time.Unix(expires, 0)}
	return l, err == nil && err2 == nil && l.Key.Valid()
}

// tagBytes of a post's key and of a signature are in the address of replies: together 36 letters and digits, so that the
// local part has room for a name (RFC 5321 allows 64).
const (
	keyBytes = 12
	tagBytes = keyBytes + 10
)

var tagText = base32.StdEncoding.WithPadding(base32.NoPadding) //nolint:gochecknoglobals // never changed

// replyAddress returns the address at which the recipient of a mail answers the ask of a post: only they know it.
func (s *App) replyAddress(post, address string) string {
	key, err := hex.DecodeString(strings.TrimPrefix(post, keyPrefix))
	if s.opts.Reply == "" || err != nil || len(key) != keyBytes {
		return ""
	}
	tag := append(key, s.sign(forReply, post+"\x00"+address)[:tagBytes-keyBytes]...)
	local, domain, _ := strings.Cut(s.opts.Reply, "@")
	return local + "+" + strings.ToLower(tagText.EncodeToString(tag)) + "@" + domain
}

const keyPrefix = "askbus-"

// parseReplyAddress returns the key of the post in an address of replies, and a function that reports whether the
// address was made for a recipient.
func (s *App) parseReplyAddress(to string) (post string, madeFor func(address string) bool, ok bool) {
	local, domain, _ := strings.Cut(strings.ToLower(s.opts.Reply), "@")
	given, at, _ := strings.Cut(strings.ToLower(to), "@")
	text, tagged := strings.CutPrefix(given, local+"+")
	tag, err := tagText.DecodeString(strings.ToUpper(text))
	if !tagged || at != domain || err != nil || len(tag) != tagBytes {
		return "", nil, false
	}
	post = keyPrefix + hex.EncodeToString(tag[:keyBytes])
	return post, func(address string) bool {
		return hmac.Equal(s.sign(forReply, post+"\x00"+address)[:tagBytes-keyBytes], tag[keyBytes:])
	}, true
}
