package feishu

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
)

// PathEvents is the path of webhooks: of events and of callbacks.
const PathEvents = "/feishu/events"

// maxAge bounds the age of a signature: Feishu delivers an event again for seven hours.
const maxAge = 8 * time.Hour

// Handler serves webhooks. It keeps no state between requests: any replica serves any of them. A request must be
// encrypted with the app's key, and signed; only the challenge that Feishu sends when the address is saved is not signed.
func (s *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathEvents, s.serveEvent)
	return mux
}

func (s *App) serveEvent(w http.ResponseWriter, r *http.Request) {
	refuse := func(err error) { //nolint:contextcheck // a log line; all alike: who sends it learns nothing of the key
		s.Log.WarnContext(r.Context(), "refused a webhook", slog.String("error", err.Error()))
		s.RefuseRequest(r, ask.CodeUnauthorized, err.Error())
		http.Error(w, "not a webhook of this app", http.StatusUnauthorized)
	}
	body, ok := chat.ReadBody(w, r)
	if !ok {
		return
	}
	signed := s.signed(r.Header, body)
	data, err := decrypt(s.opts.EncryptKey, body)
	if err != nil {
		refuse(err)
		return
	}
	var e struct {
		event
		Type      string `json:"type"`
		Token     string `json:"token"`
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		refuse(errors.New("malformed event"))
		return
	}
	challenge := e.Type == "url_verification"
	token := e.Header.Token
	if challenge {
		token = e.Token
	}
	switch {
	case s.opts.VerificationToken == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.opts.VerificationToken)) != 1:
		refuse(errors.New("wrong verification token"))
	case challenge:
		answer(w, map[string]string{"challenge": e.Challenge})
	case !signed:
		refuse(errors.New("wrong or old signature"))
	default:
		out, ok := s.respond(r.Context(), &e.event)
		if !ok {
			http.Error(w, "too many at once", http.StatusServiceUnavailable)
			return
		}
		answer(w, out)
	}
}

func answer(w http.ResponseWriter, v any) {
	data, err := encode(v)
	if err != nil {
		data = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(data)
}

// signed reports whether a request has the signature of its body, of a time not long ago.
func (s *App) signed(h http.Header, body []byte) bool {
	at := h.Get("X-Lark-Request-Timestamp")
	seconds, err := strconv.ParseFloat(at, 64)
	if err != nil || s.opts.EncryptKey == "" {
		return false
	}
	sum := sha256.New()
	for _, part := range []string{at, h.Get("X-Lark-Request-Nonce"), s.opts.EncryptKey} {
		sum.Write([]byte(part))
	}
	sum.Write(body)
	age := s.Clock.Now().Sub(time.Unix(int64(seconds), 0))
	return subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum.Sum(nil))), []byte(h.Get("X-Lark-Signature"))) == 1 && age.Abs() < maxAge
}

// decrypt returns the event in a body: AES-256-CBC with the hash of the key, and the vector in front.
func decrypt(key string, body []byte) ([]byte, error) {
	var sealed struct {
		Encrypt string `json:"encrypt"`
	}
	if err := json.Unmarshal(body, &sealed); err != nil || sealed.Encrypt == "" {
		return nil, errors.New("the event is not encrypted; set the same Encrypt Key in the app's settings")
	}
	data, err := base64.StdEncoding.DecodeString(sealed.Encrypt)
	if err != nil || len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, errors.New("the event cannot be decrypted")
	}
	hash := sha256.Sum256([]byte(key))
	c, err := aes.NewCipher(hash[:])
	if err != nil {
		return nil, err
	}
	vector, data := data[:aes.BlockSize], data[aes.BlockSize:]
	cipher.NewCBCDecrypter(c, vector).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad < 1 || pad > aes.BlockSize || pad > len(data) {
		return nil, errors.New("the event cannot be decrypted")
	}
	return data[:len(data)-pad], nil
}
