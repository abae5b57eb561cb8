package natsd_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refused starts a server that must not start, and returns why.
func refused(t *testing.T, dir, addr string) string {
	t.Helper()
	s, err := natsd.Start(natsd.Options{Dir: dir, Addr: addr, Admin: natstest.AdminPassword})
	if err == nil {
		s.Close()
		t.Fatal("it started")
	}
	return err.Error()
}

func wants(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("the error does not say %q: %s", p, got)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhyTheServerDoesNotStart(t *testing.T) {
	t.Parallel()
	t.Run("the port is taken", func(t *testing.T) {
		t.Parallel()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		dir := filepath.Join(t.TempDir(), "d")
		wants(t, refused(t, dir, ln.Addr().String()), ln.Addr().String(), "taken by another process", "--nats-addr")
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Error("a directory was made all the same")
		}
	})
	t.Run("the address is none", func(t *testing.T) {
		t.Parallel()
		wants(t, refused(t, t.TempDir(), "nowhere"), "nowhere", "--nats-addr")
	})
	t.Run("no directory", func(t *testing.T) {
		t.Parallel()
		wants(t, refused(t, "", "127.0.0.1:0"), "--dir")
	})
	t.Run("the directory is a file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, "x")
		wants(t, refused(t, path, "127.0.0.1:0"), path, "--dir")
		wants(t, refused(t, filepath.Join(path, "below"), "127.0.0.1:0"), path, "--dir")
	})
	t.Run("the lock cannot be written", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "lock"), 0o700); err != nil {
			t.Fatal(err)
		}
		wants(t, refused(t, dir, "127.0.0.1:0"), dir, "not writable", "--dir")
	})
	t.Run("the store is in use", func(t *testing.T) {
		t.Parallel()
		b := natstest.Start(t, natstest.Options{NoBroker: true})
		wants(t, refused(t, b.Dir, "127.0.0.1:0"), b.Dir, "in use by another askbus process", "--dir")
	})
	t.Run("a newer version", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "version"), "2\n")
		wants(t, refused(t, dir, "127.0.0.1:0"), dir, `"2"`, "newer askbus")
		if data, err := os.ReadFile(filepath.Join(dir, "version")); err != nil || string(data) != "2\n" {
			t.Errorf("the version was changed to %q, %v", data, err)
		}
	})
	for name, content := range map[string]string{"a short key": "abcd\n", "a key of garbage": strings.Repeat("z", 64), "an empty key": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "key"), content)
			wants(t, refused(t, dir, "127.0.0.1:0"), filepath.Join(dir, "key"), "damaged", "new credentials")
			if data, err := os.ReadFile(filepath.Join(dir, "key")); err != nil || string(data) != content {
				t.Errorf("the key was changed to %q, %v", data, err)
			}
		})
	}
}

// used is a directory with a stream and a message in it.
func used(t *testing.T) (dir, stream string) {
	t.Helper()
	dir = t.TempDir()
	s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	nc, err := nats.Connect(s.URL(), nats.UserInfo("admin", natstest.AdminPassword))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ASKS_00", Subjects: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := js.Publish(t.Context(), "x", []byte(strings.Repeat("kept ", 100))); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	return dir, filepath.Join(dir, "nats", "jetstream", "$G", "streams", "ASKS_00")
}

func TestACorruptStoreIsSaidAndLeftAlone(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"meta.inf", "meta.sum"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir, stream := used(t)
			path := filepath.Join(stream, file)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := append([]byte{}, good...)
			for i := range 8 {
				bad[len(bad)/2+i] ^= 0xff
			}
			write(t, path, string(bad))
			for range 2 { // also when it is tried again
				wants(t, refused(t, dir, "127.0.0.1:0"), dir, "corrupt", "ASKS_00", "backup")
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != string(bad) {
				t.Errorf("%s was changed: %v", file, err)
			}
			write(t, path, string(good)) // from the backup
			s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
			if n := messages(t, s); n != 10 {
				t.Errorf("%d messages came back", n)
			}
		})
	}
}

func messages(t *testing.T, s *natsd.Server) uint64 {
	t.Helper()
	nc, err := nats.Connect(s.URL(), nats.UserInfo("admin", natstest.AdminPassword))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.Stream(t.Context(), "ASKS_00")
	if err != nil {
		t.Fatal(err)
	}
	return info.CachedInfo().State.Msgs
}

func TestKeyCredentialsAndStoreSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	addr := s.Addr()
	c, err := s.Key().Credential(s.URL(), agent)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	s.Close()
	s.Close() // twice is harmless
	again := natstest.Serve(t, dir, addr, 0)
	nc, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password))
	if err != nil {
		t.Fatalf("the credential of before: %v", err)
	}
	nc.Close()
	if string(again.Key()) != string(s.Key()) || again.Addr() != addr {
		t.Error("key or address changed")
	}
}

func TestKeysAreMadeOnceByWhoeverComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 20
	keys := make(chan natsd.Key, n)
	for range n {
		go func() {
			k, err := natsd.LoadKey(dir)
			if err != nil {
				t.Error(err)
			}
			keys <- k
		}()
	}
	first := <-keys
	for range n - 1 {
		if k := <-keys; string(k) != string(first) {
			t.Error("two keys were handed out")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if string(first.Derive("a")) == string(first.Derive("b")) || first.Password("x") == first.Password("y") {
		t.Error("two purposes have the same secret")
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:1": "127.0.0.1:1", "0.0.0.0:1": "127.0.0.1:1", ":1": "127.0.0.1:1", "[::]:1": "127.0.0.1:1", "example.com:1": "example.com:1", "bad": "bad",
	} {
		if got := natsd.Reachable(addr); got != want {
			t.Errorf("%s is reached at %s, want %s", addr, got, want)
		}
	}
}
