package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/testkit/certtest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// browser returns an HTTP client that trusts a CA file.
func browser(t *testing.T, ca string) *http.Client {
	t.Helper()
	web, err := cli.Trusting(ca)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	web.Jar = jar
	t.Cleanup(web.CloseIdleConnections)
	return web
}

// leafAt returns the certificate that a new connection to a URL's host gets.
func leafAt(t *testing.T, at string) *x509.Certificate {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

func TestUpMakesItsOwnCertificate(t *testing.T) {
	t.Parallel()
	pl, p := up(t, "--tls")
	said := p.out.String()
	fingerprint := regexp.MustCompile(`([0-9A-F]{2}:){31}[0-9A-F]{2}`).FindString(said)
	ctx := pl.context()
	ca := filepath.Join(pl.dir, "tls-ca.crt")
	if fingerprint == "" || ctx.NATSCAFile != ca || !strings.HasPrefix(ctx.NATSURL, "tls://127.0.0.1:") || !strings.HasPrefix(ctx.HTTPURL, "https://127.0.0.1:") {
		t.Fatalf("%+v\n%s", ctx, said)
	}
	// The directory's commands and other processes trust it without a flag.
	beside := start(t, "", "broker", "--dir", pl.dir)
	beside.err.wait(t, "broker on ")
	asker := start(t, "", "ask", "--question", "Go?", "--option", "Yes", "--id", "a1", "--session", "s1", "--dir", pl.dir)
	pl.pending("s1")
	pl.must(0, "answer", "s1/a1", "--reply", "Yes")
	if code := asker.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, asker.err)
	}
	out, _, code := pl.run("doctor", "--output", "text", "--no-ask")
	if code != 0 || !strings.Contains(out, "ok      TLS: the server's certificate is valid until") || !strings.Contains(out, "ok      inbox: its certificate is valid until") {
		t.Errorf("doctor: %d %s", code, out)
	}
	// The link signs in over TLS, and its cookie is Secure.
	link, _, _ := pl.run("login", "--output", "text")
	web := browser(t, ca)
	res, err := web.Get(strings.TrimSpace(link))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != 200 || !strings.Contains(string(body), "askbus") || res.Request.Response == nil || !strings.Contains(res.Request.Response.Header.Get("Set-Cookie"), "; Secure;") {
		t.Errorf("signed in with %d, cookie %q", res.StatusCode, res.Request.Response.Header.Get("Set-Cookie"))
	}
	if res, err := http.Get(ctx.HTTPURL); err == nil {
		_ = res.Body.Close()
		t.Error("the system trusts a certificate that we made")
	}
	// A credential carries the CA that other machines need.
	text, _, _ := pl.run("auth", "agent", "--session", "s2", "--output", "json")
	var cred client.Credential
	if err := json.Unmarshal([]byte(text), &cred); err != nil || cred.CA == "" || strings.Contains(cred.CA, "KEY") {
		t.Fatalf("%v %s", err, text)
	}
	nc, err := client.Connect(cred, nil, nats.RetryOnFailedConnect(false))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	cred.CA = ""
	if nc, err := client.Connect(cred, nil, nats.RetryOnFailedConnect(false)); err == nil || !strings.Contains(err.Error(), "ASKBUS_NATS_CA_FILE") {
		nc.Close()
		t.Errorf("without it: %v", err)
	}
	// It survives a restart, and only its owner can read the key.
	if code := p.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if info, err := os.Stat(filepath.Join(pl.dir, "tls.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	again := pl.up("--tls")
	if !strings.Contains(again.out.String(), fingerprint) {
		t.Errorf("another fingerprint than %s: %s", fingerprint, again.out)
	}
	again.stop()
	// Without --tls everything works as before.
	pl.up()
	if ctx := pl.context(); ctx.NATSCAFile != "" || !strings.HasPrefix(ctx.NATSURL, "nats://") || !strings.HasPrefix(ctx.HTTPURL, "http://") {
		t.Errorf("%+v", ctx)
	}
	pl.must(0, "list")
}

// openssl and curl accept it, which do not use Go's TLS.
func TestOtherPeoplesToolsAcceptTheCertificate(t *testing.T) {
	t.Parallel()
	pl, _ := up(t, "--tls")
	u, _ := url.Parse(pl.context().HTTPURL)
	ca := filepath.Join(pl.dir, "tls-ca.crt")
	for tool, args := range map[string][]string{
		"curl":    {"--silent", "--show-error", "--cacert", ca, "--output", os.DevNull, u.String()},
		"openssl": {"s_client", "-connect", u.Host, "-CAfile", ca, "-verify_return_error", "-verify_ip", "127.0.0.1", "-tls1_2"},
	} {
		if _, err := exec.LookPath(tool); err != nil {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", tool, err, out)
		}
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		return
	}
	if out, err := exec.CommandContext(t.Context(), "openssl", "s_client", "-connect", u.Host, "-tls1_1").CombinedOutput(); err == nil {
		t.Errorf("TLS 1.1: %s", out)
	}
}

func TestFilesOfACertificateAreReadAgain(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	pair := certtest.At(t.TempDir())
	ca.Issue(pair, time.Hour, "ask.example") // not the address that commands use
	pl, p := up(t, "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key)
	pl.must(0, "list")
	at := pl.context().HTTPURL
	// A page that stays open.
	u, _ := url.Parse(at)
	open, err := tls.Dial("tcp", u.Host, &tls.Config{RootCAs: ca.Pool, ServerName: "ask.example"})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	next := ca.Issue(pair, time.Hour, "ask.example")
	hangUp := func() {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	hangUp()
	p.err.wait(t, "read the TLS certificate again")
	if !leafAt(t, at).Equal(next) {
		t.Error("new connections see the old certificate")
	}
	pl.must(0, "list")
	if _, err := io.WriteString(open, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if answer, err := io.ReadAll(open); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401") {
		t.Errorf("the open connection: %v %.40q", err, answer)
	}
	if err := os.WriteFile(pair.Key, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp()
	p.err.wait(t, "the previous one stays in use")
	if !leafAt(t, at).Equal(next) {
		t.Error("a broken file replaced the certificate")
	}
	if code := p.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, stderr, code := pl.run("up", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open", "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key); code != cli.ExitUsage || !strings.Contains(stderr, "tls.key") {
		t.Errorf("started with a broken key: exit %d, %s", code, stderr)
	}
}

// Closing a terminal ends the processes started in it, although SIGHUP makes them read files again.
func TestAClosedTerminalEndsUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	p, terminal := onTerminal(t, 120, 40, []string{"ASKBUS_LOG_LEVEL=info", "BROWSER=true"}, "up", "--tls", "--dir", dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open")
	p.out.wait(t, "askbus is up.")
	hangUp := func() {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, "tls.crt")); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	// A requested SIGHUP reads the files again and goes on.
	hangUp()
	p.out.wait(t, "read the TLS certificate again")
	place{t, dir}.must(0, "list")
	if err := terminal.Close(); err != nil { // the terminal's window
		t.Fatal(err)
	}
	hangUp() // its output makes the reader of the terminal return
	if p.wait(); !p.cmd.ProcessState.Exited() {
		t.Errorf("it did not drain: %v", p.cmd.ProcessState)
	}
}

func TestRolesShowCertificatesToAServerThatWantsThem(t *testing.T) {
	t.Parallel()
	servers, clients := certtest.New(t), certtest.New(t)
	pair, mine := servers.Fresh(time.Hour, "127.0.0.1"), clients.Fresh(time.Hour)
	pl := place{t, filepath.Join(t.TempDir(), "state")}
	start(t, "", "server", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key, "--tls-client-ca-file", clients.File).err.wait(t, "NATS at tls://")
	if _, stderr, code := pl.run("broker"); code != cli.ExitFailure || !strings.Contains(stderr, "ASKBUS_NATS_CERT_FILE") {
		t.Errorf("a broker without a certificate: exit %d, %s", code, stderr)
	}
	env := []string{"ASKBUS_NATS_CERT_FILE=" + mine.Cert, "ASKBUS_NATS_KEY_FILE=" + mine.Key}
	startWith(t, env, "", "broker", "--dir", pl.dir).err.wait(t, "broker on ")
	startWith(t, env, "", "web", "--dir", pl.dir, "--http-addr", "127.0.0.1:0", "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key).err.wait(t, "inbox at https://")
	startWith(t, env, "", "gateway", "--dir", pl.dir, "--http-addr", "127.0.0.1:0", "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key).err.wait(t, "gateway at https://")
	if p := startWith(t, env, "", "ask", "--question", "Go?", "--wait", "0", "--dir", pl.dir); p.wait() != cli.ExitPending {
		t.Errorf("%s%s", p.out, p.err)
	}
	p := startWith(t, env, "", "doctor", "--dir", pl.dir, "--output", "text", "--no-ask")
	p.wait()
	if out := p.out.String(); !strings.Contains(out, "missing client certificate: that in "+mine.Cert) || !strings.Contains(out, "missing TLS: the server's certificate expires") {
		t.Errorf("doctor says nothing of certificates that end in an hour: %s%s", out, p.err)
	}
}

// Every kind of listener, beyond loopback.
func TestOtherMachinesNeedTLS(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	pl, _ := up(t)
	slack := []string{"ASKBUS_SLACK_BOT_TOKEN=xoxb-1", "ASKBUS_SLACK_SIGNING_SECRET=s", "ASKBUS_SLACK_CHANNEL=C1", "ASKBUS_SLACK_URL=http://127.0.0.1:1/api/"}
	free, err := freeaddr.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct {
		env  []string
		args []string
	}{
		"NATS of up":             {nil, []string{"up", "--nats-addr", "0.0.0.0:0", "--http-addr", "127.0.0.1:0", "--no-open"}},
		"HTTP of up":             {nil, []string{"up", "--nats-addr", "127.0.0.1:0", "--http-addr", ":0", "--no-open"}},
		"HTTP of up, by setting": {[]string{"ASKBUS_HTTP_ADDR=[::]:0"}, []string{"up", "--nats-addr", "127.0.0.1:0", "--no-open"}},
		"by a name":              {nil, []string{"up", "--nats-addr", "bus.example:0", "--http-addr", "127.0.0.1:0", "--no-open"}},
		"NATS of server":         {nil, []string{"server", "--nats-addr", "0.0.0.0:0"}},
		"NATS of a node":         {nil, []string{"server", "--nats-addr", "0.0.0.0:0", "--cluster", "n1=" + free[0], "--node", "n1"}},
		"web":                    {nil, []string{"web", "--http-addr", "0.0.0.0:0"}},
		"gateway":                {nil, []string{"gateway", "--http-addr", "0.0.0.0:0"}},
		"slack":                  {slack, []string{"slack", "--http-addr", "0.0.0.0:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := pl.dir
			if v.args[0] == "up" || v.args[0] == "server" {
				dir = filepath.Join(t.TempDir(), "state")
			}
			p := startWith(t, v.env, "", append(v.args, "--dir", dir)...)
			if code := p.wait(); code != cli.ExitUsage || !strings.Contains(p.err.String(), "without") && !strings.Contains(p.err.String(), "no TLS") || !strings.Contains(p.err.String(), "--insecure") {
				t.Errorf("exit %d: %s", code, p.err)
			}
			if strings.Contains(p.out.String()+p.err.String(), "is up") {
				t.Error("it was up")
			}
		})
	}
	// Said to be meant, it starts. So it does with TLS; ops may be scraped in the clear.
	start(t, "", "web", "--http-addr", "0.0.0.0:0", "--insecure", "--dir", pl.dir).err.wait(t, "inbox at http://")
	startWith(t, []string{"ASKBUS_INSECURE=true"}, "", "gateway", "--http-addr", "0.0.0.0:0", "--ops-addr", "0.0.0.0:0", "--dir", pl.dir).err.wait(t, "gateway at http://")
	other := place{t, filepath.Join(t.TempDir(), "state")}
	p := other.up("--tls", "--http-addr", "0.0.0.0:0", "--nats-addr", "0.0.0.0:0", "--ops-addr", "0.0.0.0:0")
	other.must(0, "list")
	link, stderr, code := other.run("login", "--phone", "--output", "text")
	if u, err := url.Parse(strings.Fields(link + " .")[0]); err != nil || net.ParseIP(u.Hostname()).IsLoopback() != (code != 0) || code == 0 && !strings.Contains(link, "█") {
		t.Errorf("exit %d: %s%s", code, link, stderr)
	} else if code == 0 {
		res, err := browser(t, filepath.Join(other.dir, "tls-ca.crt")).Get(strings.Fields(link)[0])
		if err != nil || res.StatusCode != 200 {
			t.Errorf("a phone: %v %v", res, err)
		}
		if err == nil {
			_ = res.Body.Close()
		}
	}
	for _, args := range [][]string{
		{"--tls", "--tls-cert-file", "x", "--tls-key-file", "y"},
		{"--tls-cert-file", "x"},
		{"--tls-key-file", "x"},
		{"--tls-client-ca-file", "x"},
		{"--tls-cert-file", "/does/not/exist", "--tls-key-file", "/does/not/exist"},
	} {
		if _, stderr, code := other.run(append([]string{"up", "--no-open", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
	p.stop()
}

// A client that swaps a token names the gateway's CA.
func TestAnExchangeTrustsTheCAItIsTold(t *testing.T) {
	t.Parallel()
	pl, _ := up(t, "--tls")
	secret, _, _ := pl.run("token", "issue", "--session", "s1", "--endpoints", "nats", "--output", "json")
	var issued struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(secret), &issued); err != nil || issued.Token == "" {
		t.Fatalf("%v %s", err, secret)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(issued.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "state")
	env := []string{"ASKBUS_EXCHANGE_URL=" + pl.context().HTTPURL, "ASKBUS_EXCHANGE_TOKEN_FILE=" + file}
	p := startWith(t, env, "", "ask", "--question", "Go?", "--wait", "0", "--session", "s1", "--dir", elsewhere)
	if code := p.wait(); code == cli.ExitPending || !strings.Contains(p.err.String(), "certificate") {
		t.Errorf("exit %d: %s", code, p.err)
	}
	p = startWith(t, append(env, "ASKBUS_EXCHANGE_CA_FILE="+filepath.Join(pl.dir, "tls-ca.crt")), "", "ask", "--question", "Go?", "--wait", "0", "--session", "s1", "--dir", elsewhere)
	if code := p.wait(); code != cli.ExitPending {
		t.Errorf("exit %d: %s", code, p.err)
	}
	natstest.Eventually(t, "the ask is there", func() bool { return len(pl.must(0, "list", "--session", "s1")["items"].([]any)) == 1 })
}
