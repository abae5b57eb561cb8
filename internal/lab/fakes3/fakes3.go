// Package fakes3 is an object store with the requests of Amazon S3 that askbus
// sends. It refuses what a real one refuses: a signature that is not of its key
// or does not cover a header, a body that is not what was signed, and a file
// above the limit of one request. hack/s3-drill tries the same against a real
// store.
package fakes3

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxFile is the limit of one request, far below the real one.
const maxFile = 64 << 20

// Store is an object store. Its zero value has no key.
type Store struct {
	Key, Secret, Region string
	Bucket              string
	Page                int // files in one page of a list

	mu     sync.Mutex
	files  map[string][]byte
	busy   int
	lose   int
	broken bool
}

// Busy makes the store refuse the next n requests with 503.
func (s *Store) Busy(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = n
}

// Lose makes the store keep the next n files without an answer.
func (s *Store) Lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = n
}

// Keys returns the names of all files.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.files))
}

// Set stores a file without a request.
func (s *Store) Set(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	s.files[key] = data
}

// Corrupt makes the store hand out files that were changed.
func (s *Store) Corrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}

func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxFile+1))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256(body)
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case s.busy > 0:
		s.busy--
		refuse(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	case len(body) > maxFile:
		refuse(w, http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed object size.")
	case !s.signed(r):
		refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
	case r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]):
		refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	case bucket != s.Bucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	case r.Method == http.MethodGet && key == "":
		s.list(w, r)
	case r.Method == http.MethodGet:
		data, ok := s.files[key]
		if !ok {
			refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
			return
		}
		if data = slices.Clone(data); s.broken {
			data[len(data)/2] ^= 1
		}
		_, _ = w.Write(data)
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*" && s.files[key] != nil:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	case r.Method == http.MethodPut:
		if s.files == nil {
			s.files = map[string][]byte{}
		}
		s.files[key] = body
		if s.lose > 0 {
			s.lose--
			panic(http.ErrAbortHandler)
		}
	case r.Method == http.MethodDelete:
		delete(s.files, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
	}
}

// canonical escapes a path as the documentation of Amazon says, UriEncode: each
// byte but A-Z a-z 0-9 - . _ ~ and the slash. A real store computes this from
// the key, however the client wrote it.
func canonical(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c != '/' && !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// signed signs the request again with its own key, and compares.
func (s *Store) signed(r *http.Request) bool {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 15*time.Minute {
		return false
	}
	auth := r.Header.Get("Authorization")
	if !strings.Contains(auth, "x-amz-content-sha256") || !strings.Contains(auth, "host;") {
		return false
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), http.NoBody) //nolint:gosec // signed again, not sent
	if err != nil {
		return false
	}
	again.URL.RawPath = canonical(r.URL.Path)
	again.ContentLength = r.ContentLength
	for _, name := range []string{"X-Amz-Content-Sha256", "If-None-Match"} {
		if v := r.Header.Get(name); v != "" {
			again.Header.Set(name, v)
		}
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	err = signer.SignHTTP(r.Context(), aws.Credentials{AccessKeyID: s.Key, SecretAccessKey: s.Secret}, again, r.Header.Get("X-Amz-Content-Sha256"), "s3", s.Region, at)
	return err == nil && again.Header.Get("Authorization") == auth
}

func (s *Store) list(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Key  string `xml:"Key"`
		Size int    `xml:"Size"`
	}
	var page struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object `xml:"Contents"`
		Next     string   `xml:"NextContinuationToken,omitempty"`
	}
	for _, key := range slices.Sorted(maps.Keys(s.files)) {
		if !strings.HasPrefix(key, r.FormValue("prefix")) || key <= r.FormValue("continuation-token") {
			continue
		}
		if len(page.Contents) == s.Page {
			page.Next = page.Contents[s.Page-1].Key
			break
		}
		page.Contents = append(page.Contents, object{key, len(s.files[key])})
	}
	_ = xml.NewEncoder(w).Encode(page)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}
