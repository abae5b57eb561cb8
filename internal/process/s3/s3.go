// Package s3 puts files into a bucket of an object store with the API of
// Amazon S3, lists them, reads them back and removes them. It does only what
// backups need: a file is put with one request, so that it is there completely
// or not at all, and its digest is part of the signature, so that the store
// refuses a file that arrives changed.
package s3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// MaxFile is the size of the largest file that the API takes in one request.
const MaxFile = 5 << 30

// Bounds of requests.
const (
	tries     = 4
	firstWait = time.Second
	quick     = time.Minute     // a list or a removal
	long      = 2 * time.Hour   // a file
	maxReply  = 4 << 20         // a page of a list
	maxPages  = 100             // of 1,000 files
	silence   = 2 * time.Minute // until the reply begins
)

// Settings say where the store is, and who asks.
type Settings struct {
	Endpoint string // URL; empty: Amazon's, of the region
	Region   string
	Key      string // access key id
	Secret   string
	Session  string // of temporary keys
}

// Environment returns the settings of the variables that all clients of S3
// read.
func Environment(getenv func(string) string) Settings {
	return Settings{
		Endpoint: cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL")),
		Region:   cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		Key:      getenv("AWS_ACCESS_KEY_ID"), Secret: getenv("AWS_SECRET_ACCESS_KEY"), Session: getenv("AWS_SESSION_TOKEN"),
	}
}

// Bucket is a bucket of a store.
type Bucket struct {
	at     *url.URL // of the bucket
	creds  aws.Credentials
	region string
	signer *v4.Signer
	http   *http.Client
}

// Open returns a bucket, without asking the store.
func Open(s Settings, bucket string) (*Bucket, error) {
	if s.Key == "" || s.Secret == "" {
		return nil, errors.New("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key of the object store")
	}
	if bucket == "" || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return nil, fmt.Errorf("invalid bucket %q", bucket)
	}
	// Amazon wants the bucket in the host's name; every other store knows it as
	// the first part of the path.
	at := &url.URL{Scheme: "https", Host: bucket + ".s3." + s.Region + ".amazonaws.com", Path: "/"}
	if s.Endpoint != "" {
		end, err := url.Parse(s.Endpoint)
		if err != nil || end.Scheme != "https" && end.Scheme != "http" || end.Host == "" || end.RawQuery != "" {
			return nil, fmt.Errorf("invalid AWS_ENDPOINT_URL_S3 %q: it is like https://s3.example.com", s.Endpoint)
		}
		at = end.JoinPath(bucket, "/")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert,errcheck // it is one
	transport.ResponseHeaderTimeout = silence
	return &Bucket{
		at: at, region: s.Region, http: &http.Client{Transport: transport, CheckRedirect: stay},
		creds:  aws.Credentials{AccessKeyID: s.Key, SecretAccessKey: s.Secret, SessionToken: s.Session},
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
	}, nil
}

// stay follows no redirect: a file that is put would arrive elsewhere as a GET,
// whose success says nothing, and the keys' session would go along.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Object is a stored file.
type Object struct {
	Key  string `xml:"Key"`
	Size int64  `xml:"Size"`
}

// File is what can be put: it is read once for its digest, and again for each
// try.
type File interface {
	io.Reader
	io.ReaderAt
}

// Put stores what f, which is at its beginning, holds, under a key that is not
// taken.
func (b *Bucket) Put(ctx context.Context, key string, f File) error {
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	if size > MaxFile {
		return fmt.Errorf("%d bytes are more than an object store takes in one request, %d: write to standard output and use a client that sends parts", size, int64(MaxFile))
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	reply, err := b.do(ctx, http.MethodPut, key, nil, body{f, size, hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return err
	}
	return reply.Close()
}

// Get copies a file to w.
func (b *Bucket) Get(ctx context.Context, key string, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	reply, err := b.do(ctx, http.MethodGet, key, nil, body{})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, reply)
	return errors.Join(err, reply.Close())
}

// Remove removes a file; one that does not exist is no error.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	reply, err := b.do(ctx, http.MethodDelete, key, nil, body{})
	if err != nil {
		return err
	}
	return reply.Close()
}

// List returns the files whose keys begin with prefix, by key.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var all []Object
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	for range maxPages {
		var page struct {
			Contents []Object `xml:"Contents"`
			Next     string   `xml:"NextContinuationToken"`
		}
		if err := b.page(ctx, query, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Contents...); page.Next == "" {
			return all, nil
		}
		query.Set("continuation-token", page.Next)
	}
	return nil, fmt.Errorf("there are more than %d files below %q: give backups a prefix of their own", len(all), prefix)
}

func (b *Bucket) page(ctx context.Context, query url.Values, page any) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	reply, err := b.do(ctx, http.MethodGet, "", query, body{})
	if err != nil {
		return err
	}
	defer reply.Close() //nolint:errcheck // it was read
	if err := xml.NewDecoder(io.LimitReader(reply, maxReply)).Decode(page); err != nil {
		return fmt.Errorf("the object store's list: %w", err)
	}
	return nil
}

// body is what a request sends.
type body struct {
	from io.ReaderAt // nil: nothing
	size int64
	sum  string
}

// emptySum is the digest of nothing.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// do sends a request, again if the store cannot be reached or is busy.
func (b *Bucket) do(ctx context.Context, method, key string, query url.Values, send body) (io.ReadCloser, error) {
	for try := 0; ; try++ {
		reply, again, err := b.once(ctx, method, key, query, send)
		if err == nil {
			return reply, nil
		}
		if try > 0 && send.from != nil && errors.Is(err, errTaken) && b.holds(ctx, key, send.sum) {
			return http.NoBody, nil // by an earlier try, whose answer was lost
		}
		if !again || try+1 == tries || backoff.Wait(ctx, firstWait, try) != nil {
			return nil, fmt.Errorf("%s %s: %w", method, b.at.JoinPath(key).Redacted(), err)
		}
	}
}

// errTaken is part of the error when there is a file of that key already.
var errTaken = errors.New("the key is taken")

// holds reports whether the store has a file with this digest under the key.
func (b *Bucket) holds(ctx context.Context, key, want string) bool {
	reply, _, err := b.once(ctx, http.MethodGet, key, nil, body{})
	if err != nil {
		return false
	}
	defer reply.Close() //nolint:errcheck // it was read
	sum := sha256.New()
	_, err = io.Copy(sum, reply)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == want
}

func (b *Bucket) once(ctx context.Context, method, key string, query url.Values, send body) (reply io.ReadCloser, again bool, err error) {
	at := *b.at
	at.Path += key
	at.RawPath = httpbinding.EscapePath(at.Path, false) // the signature is over every character that S3 wants escaped
	at.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	r, err := http.NewRequestWithContext(ctx, method, at.String(), http.NoBody)
	if err != nil {
		return nil, false, err
	}
	sum := emptySum
	if send.from != nil {
		// Of its own: the last try may still be read while this one is sent.
		r.Body, r.ContentLength, sum = io.NopCloser(io.NewSectionReader(send.from, 0, send.size)), send.size, send.sum
		r.Header.Set("If-None-Match", "*") // nothing is overwritten, where the store knows this
	}
	r.Header.Set("X-Amz-Content-Sha256", sum)
	if err := b.signer.SignHTTP(ctx, b.creds, r, sum, "s3", b.region, time.Now()); err != nil {
		return nil, false, err
	}
	got, err := b.http.Do(r)
	if err != nil {
		return nil, ctx.Err() == nil, err
	}
	if got.StatusCode/100 == 2 {
		return got.Body, false, nil
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	if got.StatusCode/100 == 3 {
		host := "another address"
		if to, err := got.Location(); err == nil {
			host = to.Host
		}
		return nil, false, fmt.Errorf("the object store says %d and points to %s, where nothing was sent: set AWS_ENDPOINT_URL_S3 and AWS_REGION to those of the bucket", got.StatusCode, ask.CleanLine(fmt.Sprintf("%.300s", host)))
	}
	var said struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	_ = xml.NewDecoder(io.LimitReader(got.Body, 64<<10)).Decode(&said) // it may have none
	again = got.StatusCode >= 500 || got.StatusCode == http.StatusTooManyRequests || method == http.MethodPut && got.StatusCode == http.StatusConflict
	err = fmt.Errorf("the object store says %d %s", got.StatusCode, ask.CleanLine(fmt.Sprintf("%.64s: %.300s", said.Code, said.Message)))
	if got.StatusCode == http.StatusPreconditionFailed {
		err = fmt.Errorf("%w: %w", errTaken, err)
	}
	return nil, again, err
}
