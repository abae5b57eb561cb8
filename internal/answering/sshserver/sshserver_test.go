package sshserver_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/sshserver"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// line returns an authorized_keys line.
func line(key ssh.Signer, before, comment string) string {
	return before + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))) + " " + comment + "\n"
}

// serve starts a server that prints the person and echoes input until q.
func serve(t *testing.T, keys string, change func(*sshserver.Options)) (addr, file string) {
	t.Helper()
	return serveUntil(t.Context(), t, keys, change)
}

// serveUntil is serve until the context ends.
func serveUntil(ctx context.Context, t *testing.T, keys string, change func(*sshserver.Options)) (addr, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := sshserver.HostKey(filepath.Join(dir, "deep", "host_key"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := sshserver.HostKey(filepath.Join(dir, "deep", "host_key"))
	if err != nil || !bytes.Equal(again.PublicKey().Marshal(), host.PublicKey().Marshal()) {
		t.Fatalf("another host key: %v", err)
	}
	opts := sshserver.Options{Keys: file, Host: host, Logins: 10_000, Serve: func(ctx context.Context, term sshserver.Terminal) error {
		fmt.Fprintf(term, "%s %v %s %s %dx%d\r\n", term.By.Principal, term.By.Groups, term.By.Proof, term.Term, term.Width, term.Height)
		typed := make(chan byte)
		go func() {
			defer close(typed)
			var one [1]byte
			for {
				if _, err := term.Read(one[:]); err != nil {
					return
				}
				typed <- one[0]
			}
		}()
		for {
			select {
			case <-ctx.Done():
				go func() {
					for range typed {
					}
				}()
				return errors.New("the program ends")
			case size := <-term.Resized:
				fmt.Fprintf(term, "%dx%d\r\n", size[0], size[1])
			case b, ok := <-typed:
				if !ok || b == 'q' {
					_ = term.CloseWrite()
					go func() {
						for range typed {
						}
					}()
					return nil
				}
			}
		}
	}}
	if change != nil {
		change(&opts)
	}
	srv, err := sshserver.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String(), file
}

func dial(addr string, key ssh.Signer) (*ssh.Client, error) {
	return ssh.Dial("tcp", addr, &ssh.ClientConfig{
		User: "anybody", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second,
	})
}

// talk opens a terminal, types and returns its output.
func talk(t *testing.T, c *ssh.Client, typed string) string {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	in, _ := s.StdinPipe()
	out, _ := s.StdoutPipe()
	if err := s.RequestPty("xterm-256color", 40, 120, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, typed)
	said, _ := io.ReadAll(out)
	_ = s.Wait()
	return string(said)
}

func TestAKeyIsAPerson(t *testing.T) {
	t.Parallel()
	mei, ben, nameless, limited, shouted, verified := newKey(t), newKey(t), newKey(t), newKey(t), newKey(t), newKey(t)
	addr, file := serve(t, "# people\n\nnonsense\n"+line(mei, "", "mei")+line(ben, `principal="os:ben",groups="platform,ops" `, "Ben's phone")+line(nameless, "", "")+
		line(limited, `from="10.0.0.0/8" `, "tom")+line(shouted, `restrict,Expiry-Time="20200101" `, "tom")+line(verified, `verify-required `, "tom"), nil)
	for want, key := range map[string]ssh.Signer{
		"ssh:mei [] ssh-key xterm-256color 120x40":                           mei,
		"os:ben [platform ops] ssh-key xterm-256color 120x40":                ben,
		"ssh:" + ssh.FingerprintSHA256(nameless.PublicKey()) + " [] ssh-key": nameless,
	} {
		c, err := dial(addr, key)
		if err != nil {
			t.Fatal(err)
		}
		if said := talk(t, c, "q"); !strings.HasPrefix(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
		_ = c.Close()
	}
	for name, key := range map[string]ssh.Signer{"an unknown key": newKey(t), "a key with an unknown restriction": limited, "a restriction in capitals": shouted, "a key that must verify its user": verified} {
		if c, err := dial(addr, key); err == nil {
			_ = c.Close()
			t.Errorf("%s was accepted", name)
		}
	}
	if err := os.WriteFile(file, []byte(line(ben, "", "ben")), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := dial(addr, mei); err == nil {
		_ = c.Close()
		t.Error("a removed key is still accepted")
	}
}

// Whoever is removed from the file, or becomes somebody else there, loses an open terminal.
func TestARemovedKeyEndsItsTerminal(t *testing.T) {
	t.Parallel()
	mei, tom, ben := newKey(t), newKey(t), newKey(t)
	addr, file := serve(t, line(mei, "", "mei")+line(tom, `groups="platform" `, "tom")+line(ben, "", "ben"), func(o *sshserver.Options) { o.Recheck = time.Millisecond })
	open := func(key ssh.Signer) (*ssh.Session, io.Writer) {
		t.Helper()
		c, err := dial(addr, key)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		s, err := c.NewSession()
		if err == nil {
			err = s.RequestPty("xterm", 40, 120, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		in, _ := s.StdinPipe()
		if err := s.Shell(); err != nil {
			t.Fatal(err)
		}
		return s, in
	}
	meis, _ := open(mei)
	toms, _ := open(tom)
	bens, in := open(ben)
	if err := os.WriteFile(file, []byte(line(tom, "", "tom")+line(ben, "", "ben")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*ssh.Session{"mei, whose key is gone": meis, "tom, who is in no group any more": toms} {
		var missing *ssh.ExitMissingError
		if err := s.Wait(); !errors.As(err, &missing) {
			t.Errorf("the terminal of %s: %v", name, err)
		}
	}
	_, _ = io.WriteString(in, "q")
	if err := bens.Wait(); err != nil {
		t.Errorf("the terminal of ben, whose key stays: %v", err)
	}
}

func TestNothingButATerminal(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	addr, _ := serve(t, line(key, "", "mei"), nil)
	c, err := dial(addr, key)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Dial("tcp", "127.0.0.1:22"); err == nil {
		t.Error("forwards connections")
	}
	if _, err := c.Listen("tcp", "127.0.0.1:0"); err == nil {
		t.Error("forwards listeners")
	}
	if ok, _, _ := c.SendRequest("streamlocal-forward@openssh.com", true, nil); ok {
		t.Error("forwards sockets")
	}
	for _, typ := range []string{"direct-tcpip", "direct-streamlocal@openssh.com", "x11", "auth-agent@openssh.com", "tun@openssh.com"} {
		if ch, _, err := c.OpenChannel(typ, nil); err == nil {
			_ = ch.Close()
			t.Errorf("opens %s", typ)
		}
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]func() error{
		"has subsystems":  func() error { return s.RequestSubsystem("sftp") },
		"takes variables": func() error { return s.Setenv("LD_PRELOAD", "x") },
	} {
		if request() == nil {
			t.Error(name)
		}
	}
	if ok, _ := s.SendRequest("auth-agent-req@openssh.com", true, nil); ok {
		t.Error("forwards agents")
	}
	if _, err := c.NewSession(); err == nil {
		t.Error("opens a second terminal")
	}
	said, err := s.CombinedOutput("id")
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.ExitStatus() != 1 || !strings.Contains(string(said), "no commands here") {
		t.Errorf("a command: %q, %v", said, err)
	}
	password := &ssh.ClientConfig{User: "x", Auth: []ssh.AuthMethod{ssh.Password("x")}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}
	if c, err := ssh.Dial("tcp", addr, password); err == nil {
		_ = c.Close()
		t.Error("takes passwords")
	}
}

// A server that stops ends the programs of its terminals, which say why.
func TestTerminalsEndWithTheServer(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	ctx, stop := context.WithCancel(t.Context())
	addr, _ := serveUntil(ctx, t, line(key, "", "mei"), func(o *sshserver.Options) {
		run := o.Serve
		o.Serve = func(within context.Context, term sshserver.Terminal) error {
			stop()
			return run(within, term)
		}
	})
	c, err := dial(addr, key)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("xterm", 40, 120, nil); err != nil {
		t.Fatal(err)
	}
	words, _ := s.StderrPipe()
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(words)
	var exit *ssh.ExitError
	if ended := s.Wait(); err != nil || !errors.As(ended, &exit) || exit.ExitStatus() != 1 || string(said) != "askbus: the program ends\r\n" {
		t.Errorf("said %q, %v, %v", said, err, ended)
	}
}

func TestLoginsAreLimitedAndRefusalsReported(t *testing.T) {
	t.Parallel()
	mei, stranger := newKey(t), newKey(t)
	told := make(chan sshserver.Refusal, 10)
	addr, _ := serve(t, line(mei, "", "mei"), func(o *sshserver.Options) {
		o.Logins = 2
		o.Refused = func(f sshserver.Refusal) { told <- f }
	})
	if c, err := dial(addr, mei); err != nil {
		t.Fatal(err)
	} else {
		_ = c.Close()
	}
	for _, want := range []sshserver.Refusal{
		{Code: ask.CodeUnauthorized, Why: "the key " + ssh.FingerprintSHA256(stranger.PublicKey()) + " is not accepted", Address: "127.0.0.1"},
		{Code: ask.CodeQuota, Why: "too many logins of this address in a minute", Address: "127.0.0.1"},
	} {
		if c, err := dial(addr, stranger); err == nil {
			_ = c.Close()
			t.Fatal("a stranger is let in")
		}
		if f := <-told; f != want {
			t.Errorf("reported is %+v, want %+v", f, want)
		}
	}
}

func TestASilentClientIsDisconnected(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, "", func(o *sshserver.Options) { o.Handshake = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(waittest.Limit))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection stays open: %v", err)
	}
}

func TestTwoThousandLoginsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	addr, _ := serve(t, line(key, "", "mei"), nil)
	for range 2000 {
		c, err := dial(addr, key)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	} // TestMain checks for leaked goroutines
}
