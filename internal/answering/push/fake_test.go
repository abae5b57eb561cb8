package push_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// service is a push service with its browsers: it verifies the sender (VAPID) and decrypts messages
// by the RFCs, without the sender's code.
type service struct {
	*httptest.Server
	t    *testing.T
	rung chan ring

	mu       sync.Mutex
	browsers map[string]*browser
	// intercept is called before and after each notice takes effect; nil: nothing is
	intercept func(n card.Notice, done bool) error
}

// ring is a message as received by a browser.
type ring struct {
	browser string
	notice  card.Notice
	header  http.Header
}

// browser is a subscription, with the service's response to its messages.
type browser struct {
	key    *ecdh.PrivateKey
	auth   []byte
	status int
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, rung: make(chan ring, 10_000), browsers: map[string]*browser{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.push))
	t.Cleanup(s.Close)
	return s
}

func (s *service) host() string { return strings.TrimPrefix(s.URL, "https://") }

// subscribe returns what a browser gives to the page.
func (s *service) subscribe(name string) []byte {
	s.t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &browser{key, make([]byte, 16), http.StatusCreated}
	_, _ = rand.Read(b.auth)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers["/"+name] = b
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Appendf(nil, `{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, s.URL+"/"+name, encode(key.PublicKey().Bytes()), encode(b.auth))
}

// says sets the service's response.
func (s *service) says(name string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers["/"+name].status = status
}

func (s *service) push(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.browsers[r.URL.Path]
	status := b.status
	s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = vapid(r, s.URL)
	}
	var plain []byte
	if err == nil {
		plain, err = b.decrypt(body)
	}
	var n card.Notice
	if err == nil {
		err = json.Unmarshal(plain, &n)
	}
	if err != nil {
		s.t.Errorf("the push service got: %v", err)
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	s.mu.Lock()
	intercept := s.intercept
	s.mu.Unlock()
	if intercept != nil {
		err = intercept(n, false)
		if err == nil {
			s.rung <- ring{strings.TrimPrefix(r.URL.Path, "/"), n, r.Header}
			err = intercept(n, true)
		}
		status = http.StatusCreated
		if retry, ok := errors.AsType[*responder.RetryError](err); ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(retry.After.Seconds()))))
			status = http.StatusTooManyRequests
		} else if err != nil {
			status = http.StatusBadGateway
		}
		w.WriteHeader(status)
		return
	}
	w.WriteHeader(status)
	s.rung <- ring{strings.TrimPrefix(r.URL.Path, "/"), n, r.Header}
}

// decrypt implements RFC 8291 with RFC 8188 for the browser.
func (b *browser) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86 || len(body) > 4096 {
		return nil, fmt.Errorf("%d bytes", len(body))
	}
	salt, size, n := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	sender, rest := body[21:21+n], body[21+n:]
	if int(size) < len(rest) {
		return nil, errors.New("more than one record")
	}
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := b.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	ikm, err1 := hkdf.Key(sha256.New, shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(sender), 32)
	cek, err2 := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, err3 := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(cek)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, rest, nil)
	if err != nil {
		return nil, err
	}
	plain = []byte(strings.TrimRight(string(plain), "\x00"))
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		return nil, errors.New("no delimiter of a last record")
	}
	return plain[:len(plain)-1], nil
}

// vapid checks a request's token (RFC 8292): for this service, signed by the key that it names,
// with which browsers subscribe.
func vapid(r *http.Request, origin string) error {
	var token, key string
	for part := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			token = value
		case "k":
			key = value
		}
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return fmt.Errorf("authorization %q", r.Header.Get("Authorization"))
	}
	if key != testKeys.Public {
		return fmt.Errorf("the key is %s", key)
	}
	point, err1 := base64.RawURLEncoding.DecodeString(key)
	signature, err2 := base64.RawURLEncoding.DecodeString(parts[2])
	claims, err3 := base64.RawURLEncoding.DecodeString(parts[1])
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return err
	}
	der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])})
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.VerifyASN1(public, sum[:], der) {
		return errors.New("the token's signature is wrong")
	}
	var c struct {
		Aud string `json:"aud"`
		Sub string `json:"sub"`
	}
	if err := json.Unmarshal(claims, &c); err != nil || c.Aud != origin || c.Sub != "mailto:ops@example.com" {
		return fmt.Errorf("claims %s: %w", claims, err)
	}
	return nil
}

// next returns the next messages of n browsers, sorted by name.
func (s *service) next(n int) []ring {
	s.t.Helper()
	var got []ring
	for range n {
		got = append(got, <-s.rung)
	}
	slices.SortFunc(got, func(x, y ring) int { return strings.Compare(x.browser, y.browser) })
	return got
}
