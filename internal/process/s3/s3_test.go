package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakes3"
	"github.com/askbus/askbus/internal/process/s3"
)

func TestFilesArePutListedReadAndRemoved(t *testing.T) {
	t.Parallel()
	store := &fakes3.Store{Key: "k", Secret: "s", Region: "eu-central-1", Bucket: "backups", Page: 2}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	settings := s3.Environment(func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL_S3": server.URL, "AWS_DEFAULT_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}[name]
	})
	b, err := s3.Open(settings, "backups")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 5 { // three pages
		key := fmt.Sprintf("a b/+%d.backup", i)
		want = append(want, key)
		if err := b.Put(t.Context(), key, strings.NewReader(key)); err != nil {
			t.Fatal(err)
		}
	}
	store.Set("other/x", []byte("x"))
	listed := func() []string {
		t.Helper()
		var keys []string
		list, err := b.List(t.Context(), "a b/")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			if keys = append(keys, o.Key); o.Size != int64(len(o.Key)) {
				t.Errorf("%s has %d bytes", o.Key, o.Size)
			}
		}
		return keys
	}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
	var got bytes.Buffer
	if err := b.Get(t.Context(), want[1], &got); err != nil || got.String() != want[1] {
		t.Errorf("%q %v", got.String(), err)
	}
	if err := b.Put(t.Context(), want[1], strings.NewReader("another")); err == nil || !strings.Contains(err.Error(), "PreconditionFailed") {
		t.Errorf("over another file: %v", err)
	}
	if err := b.Remove(t.Context(), want[0]); err != nil {
		t.Fatal(err)
	}
	if got := listed(); !slices.Equal(got, want[1:]) {
		t.Errorf("listed %q after a removal", got)
	}
	settings.Secret = "another"
	wrong, err := s3.Open(settings, "backups")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "403 SignatureDoesNotMatch") {
		t.Errorf("with another secret: %v", err)
	}
}

// A store that is busy is asked again, with the whole file.
func TestABusyStoreIsAskedAgain(t *testing.T) {
	t.Parallel()
	store := &fakes3.Store{Key: "k", Secret: "s", Region: "us-east-1", Bucket: "backups", Page: 9}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	b, err := s3.Open(s3.Settings{Endpoint: server.URL, Region: "us-east-1", Key: "k", Secret: "s"}, "backups")
	if err != nil {
		t.Fatal(err)
	}
	store.Busy(1)
	if err := b.Put(t.Context(), "f", strings.NewReader("all of it")); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := b.Get(t.Context(), "f", &got); err != nil || got.String() != "all of it" {
		t.Errorf("%q %v", got.String(), err)
	}
	store.Lose(1)
	if err := b.Put(t.Context(), "g", strings.NewReader("all of it")); err != nil {
		t.Errorf("the answer was lost: %v", err)
	}
	store.Busy(1)
	if err := b.Put(t.Context(), "g", strings.NewReader("another")); err == nil || !strings.Contains(err.Error(), "PreconditionFailed") {
		t.Errorf("over another file, at the second try: %v", err)
	}
}

// Every character of a key is signed as the store reads it.
func TestKeysWithPunctuation(t *testing.T) {
	t.Parallel()
	store := &fakes3.Store{Key: "k", Secret: "s", Region: "us-east-1", Bucket: "backups", Page: 9}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	b, err := s3.Open(s3.Settings{Endpoint: server.URL, Region: "us-east-1", Key: "k", Secret: "s"}, "backups")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"env=prod/f.backup", "a+b@c:d,e;f&g$h/f", "100%/ü~!'()*"}
	for _, key := range want {
		var got bytes.Buffer
		if err := errors.Join(b.Put(t.Context(), key, strings.NewReader(key)), b.Get(t.Context(), key, &got)); err != nil || got.String() != key {
			t.Errorf("%s: %q %v", key, got.String(), err)
		}
		if list, err := b.List(t.Context(), key); err != nil || len(list) != 1 || list[0].Key != key {
			t.Errorf("%s: listed %v %v", key, list, err)
		}
	}
	if got := store.Keys(); len(got) != len(want) {
		t.Errorf("stored %q", got)
	}
}

// A store that points elsewhere has stored nothing, whatever is answered there.
func TestARedirectIsNoSuccess(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 9)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method }))
	t.Cleanup(elsewhere.Close)
	store := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/sign-in", http.StatusFound))
	t.Cleanup(store.Close)
	b, err := s3.Open(s3.Settings{Endpoint: store.URL, Region: "us-east-1", Key: "k", Secret: "s", Session: "t"}, "backups")
	if err != nil {
		t.Fatal(err)
	}
	want := "302 and points to " + strings.TrimPrefix(elsewhere.URL, "http://")
	_, listed := b.List(t.Context(), "")
	for what, err := range map[string]error{
		"put": b.Put(t.Context(), "f", strings.NewReader("x")), "get": b.Get(t.Context(), "f", new(bytes.Buffer)),
		"list": listed, "remove": b.Remove(t.Context(), "f"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("followed with %s", <-asked)
	}
}

func TestSettingsThatCannotBeRightAreRefused(t *testing.T) {
	t.Parallel()
	whole := s3.Settings{Region: "us-east-1", Key: "k", Secret: "s"}
	for want, change := range map[string]func(*s3.Settings) string{
		"AWS_ACCESS_KEY_ID":    func(s *s3.Settings) string { s.Key = ""; return "b" },
		`invalid bucket "B/x"`: func(*s3.Settings) string { return "B/x" },
		`invalid bucket ""`:    func(*s3.Settings) string { return "" },
		"AWS_ENDPOINT_URL_S3":  func(s *s3.Settings) string { s.Endpoint = "minio:9000"; return "b" },
	} {
		s := whole
		bucket := change(&s)
		if _, err := s3.Open(s, bucket); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
