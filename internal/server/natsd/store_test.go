package natsd_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refused starts a server that must not start, and returns the reason.
func refused(t *testing.T, dir, addr string) string {
	t.Helper()
	s, err := natsd.Start(natsd.Options{Dir: dir, Addr: addr, Admin: true})
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
	for name, content := range map[string]string{"no JSON": "abcd\n", "no keys": "{}", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := keysFile(t, dir)
			write(t, path, content)
			wants(t, refused(t, dir, "127.0.0.1:0"), path, "damaged", "new credentials")
			if data, err := os.ReadFile(path); err != nil || string(data) != content {
				t.Errorf("the key was changed to %q, %v", data, err)
			}
		})
	}
}

// used returns a directory with a stream and a message in it.
func used(t *testing.T) (dir, stream string) {
	t.Helper()
	dir = t.TempDir()
	s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	nc := natstest.Plain(t, s, rights.Role{Name: rights.RoleLedgerAdmin})
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
	return dir, streamDir(t, dir)
}

// streamDir returns the directory of the first stream.
func streamDir(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "A*", "streams", "ASKS_00"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the stream's directory: %v, %v", found, err)
	}
	return found[0]
}

// keysFile returns the path of a directory's key file, and creates its folder.
func keysFile(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "auth"), 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "auth", "keys.json")
}

func TestACorruptStoreIsReportedAndLeftAlone(t *testing.T) {
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
			for range 2 { // also on the second attempt
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
	nc := natstest.Plain(t, s, rights.Role{Name: rights.RoleLedgerAdmin})
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
	c, err := s.Credential(agent)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "auth"))
	if err != nil || len(entries) != 7 {
		t.Errorf("the keys: %v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	s.Close()
	s.Close() // twice is harmless
	// It was killed while it made streams, which hold nothing yet.
	for name, config := range map[string]string{"ASKS_00": `{"name":"ASKS_00"}`, "ASKS_01": `{"name":"ASKS_01","subj`, "ASKS_02": ""} {
		at := filepath.Join(storecheck.StreamsDir(dir), name)
		if err := os.MkdirAll(filepath.Join(at, "msgs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if config != "" {
			write(t, filepath.Join(at, "meta.inf"), config)
		}
	}
	again := natstest.Serve(t, dir, addr, 0)
	js, err := jetstream.New(natstest.Plain(t, again, rights.Role{Name: rights.RoleLedgerAdmin}))
	if err == nil {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ASKS_00", Subjects: []string{"x"}})
	}
	again.Close()
	if err != nil {
		t.Fatal(err)
	}
	again = natstest.Serve(t, dir, addr, 0)
	if n := messages(t, again); n != 0 {
		t.Errorf("%d messages in a new stream", n)
	}
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)))
	if err != nil {
		t.Fatalf("the credential of before: %v", err)
	}
	nc.Close()
	if again.Addr() != addr {
		t.Error("the address changed")
	}
}

// A new key for an existing store would invalidate every credential.
func TestAStoreWithoutItsKeyIsAnError(t *testing.T) {
	t.Parallel()
	dir, _ := used(t)
	path, aside := filepath.Join(dir, "auth"), filepath.Join(t.TempDir(), "auth")
	if err := natsd.NewKey(dir); err == nil || !strings.Contains(err.Error(), "already has keys") {
		t.Errorf("new keys beside others: %v", err)
	}
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	wants(t, refused(t, dir, "127.0.0.1:0"), path, "backup", "askbus ledger new-key")
	if _, err := rights.LoadKey(dir); err == nil {
		t.Error("LoadKey made a key")
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("a key was made: %v", err)
	}
	if err := os.Rename(aside, path); err != nil { // from the backup
		t.Fatal(err)
	}
	natstest.Serve(t, dir, "127.0.0.1:0", 0).Close()
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	if err := natsd.NewKey(dir); err != nil {
		t.Fatal(err)
	}
	s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	if n := messages(t, s); n != 10 {
		t.Errorf("%d messages are left", n)
	}
	if err := natsd.NewKey(dir); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("while the server runs: %v", err)
	}
	if err := natsd.NewKey(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no store") {
		t.Errorf("in an empty directory: %v", err)
	}
}

func TestKeysAreMadeOnceByWhoeverComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 20
	keys := make(chan rights.Key, n)
	for range n {
		go func() {
			k, err := rights.LoadKey(dir)
			if err != nil {
				t.Error(err)
			}
			keys <- k
		}()
	}
	first := <-keys
	for range n - 1 {
		if k := <-keys; string(k.Derive("a")) != string(first.Derive("a")) {
			t.Error("two keys were handed out")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if string(first.Derive("a")) == string(first.Derive("b")) {
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
