package webhook_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/webhook"
)

// secret is that of the test vector of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func secrets(t *testing.T, lines string) []webhook.Secret {
	t.Helper()
	all, err := webhook.ParseSecrets([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	id, at, body := "msg_p5jXN8AQM9LWM0D4loKWxJek", int64(1614265330), []byte(`{"test": 2432232314}`)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := webhook.Sign(secrets(t, secret), id, at, body); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	two := webhook.Sign(secrets(t, secret+"\nwhsec_"+strings.Repeat("A", 32)), id, at, body)
	if one, other, ok := strings.Cut(two, " "); !ok || one != want || !strings.HasPrefix(other, "v1,") {
		t.Errorf("two secrets sign %s", two)
	}
}

func TestSecretsOfTheWrongFormAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "\n", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!", strings.Repeat(secret+"\n", 4), "whsec_" + strings.Repeat("A", 88)} {
		_, err := webhook.ParseSecrets([]byte(bad))
		if err == nil {
			t.Errorf("%q is accepted", bad)
		} else if bad != "" && strings.Contains(err.Error(), "MfKQ") {
			t.Errorf("the error repeats the secret: %v", err)
		}
	}
}

func TestTheScheduleEndsAfterThreeDays(t *testing.T) {
	t.Parallel()
	var all time.Duration
	n := 1
	for ; ; n++ {
		d, again := webhook.After(n)
		if !again {
			break
		}
		all += d
	}
	if n != 10 || all < 72*time.Hour || all > 80*time.Hour {
		t.Errorf("%d attempts within %s", n, all)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://a.example/x?y=1", "http://10.0.0.1:8080/"} {
		if err := webhook.CheckURL(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "a.example", "ftp://a.example", "https://me:pw@a.example", "https://", "file:///etc/passwd", "https://a.example/#x", "gopher://a"} {
		if webhook.CheckURL(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// receiver counts requests.
func receiver(t *testing.T, h http.HandlerFunc) (endpoint webhook.Endpoint, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return webhook.Endpoint{URL: srv.URL + "/hook", Secrets: secrets(t, secret), AllowPrivate: true}, calls
}

func TestAPrivateAddressIsRefusedWhenItConnects(t *testing.T) {
	t.Parallel()
	to, calls := receiver(t, func(http.ResponseWriter, *http.Request) {})
	s := webhook.New()
	defer s.Close()
	if err := s.Send(t.Context(), &to, "msg_1", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	port := to.URL[strings.LastIndexByte(to.URL, ':'):]
	to.AllowPrivate = false // the connection of the private call must not serve this one
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "2130706433"} {
		to.URL = "http://" + host + port
		err := s.Send(t.Context(), &to, "msg_1", []byte("{}"))
		if err == nil {
			t.Errorf("%s was called", host)
		} else if host == "localhost" && !strings.Contains(err.Error(), "allow_private") {
			t.Errorf("%s: %v", host, err) // the name resolves, and its address is refused
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	inside, reached := receiver(t, func(http.ResponseWriter, *http.Request) {})
	to, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
	})
	s := webhook.New()
	defer s.Close()
	err := s.Send(t.Context(), &to, "msg_1", []byte("{}"))
	if refused, ok := errors.AsType[*webhook.RefusedError](err); !ok || refused.Status != 307 || reached.Load() != 0 {
		t.Errorf("%v, and the other address got %d calls", err, reached.Load())
	}
}

func TestWhatAResponseMeans(t *testing.T) {
	t.Parallel()
	status, after := 200, ""
	to, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
	})
	s := webhook.New()
	defer s.Close()
	for _, c := range []struct {
		status  int
		after   string
		refused bool
		gone    bool
		wait    time.Duration
	}{{200, "", false, false, 0}, {204, "", false, false, 0}, {410, "", true, true, 0}, {500, "", true, false, 0}, {429, "120", true, false, 2 * time.Minute}, {503, "99999999999", true, false, 24 * time.Hour}, {503, "-5", true, false, 0}} {
		status, after = c.status, c.after
		err := s.Send(t.Context(), &to, "msg_1", []byte("{}"))
		e, refused := errors.AsType[*webhook.RefusedError](err)
		if refused != c.refused || refused && (e.Gone() != c.gone || e.After != c.wait) {
			t.Errorf("%d %q: %v", c.status, c.after, err)
		}
	}
}

func TestAHugeResponseIsNotRead(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	to, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		block := make([]byte, 64<<10)
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	s := webhook.New()
	defer s.Close()
	if err := s.Send(t.Context(), &to, "msg_1", []byte("{}")); err != nil {
		t.Error(err)
	}
	<-ended // the connection was closed on it
	big, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) })
	if err := s.Send(t.Context(), &big, "msg_1", []byte("{}")); err == nil {
		t.Error("a header of a megabyte is accepted")
	}
}

func TestAReceiverThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		buf := make([]byte, 1)
		_, _ = io.ReadFull(conn, buf) // it takes the request and says nothing
		cancel()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}()
	s := webhook.New()
	defer s.Close()
	to := webhook.Endpoint{URL: "http://" + ln.Addr().String() + "/very-secret-path", Secrets: secrets(t, secret), AllowPrivate: true}
	err = s.Send(ctx, &to, "msg_1", []byte("{}"))
	if err == nil || strings.Contains(err.Error(), "very-secret-path") {
		t.Errorf("the error is %v", err)
	}
}
