package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/fakes3"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// What a CronJob does: with a credential that only reads, a backup into a directory or a bucket, of which the
// newest ones stay; and what the drill does: the newest one is restored elsewhere and checked.
func TestBackupsInAPlaceWithACredentialOfTheirOwn(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(cli.ExitPending, "ask", "--question", "Go?", "--option", "yes", "--id", "open", "--session", "s1", "--wait", "0")
	home := t.TempDir()
	text, said, code := pl.run("auth", "backup")
	creds := filepath.Join(home, "backup.json")
	if code != 0 || os.WriteFile(creds, []byte(text), 0o600) != nil {
		t.Fatalf("auth backup: exit %d, %s", code, said)
	}
	elsewhere := place{t, filepath.Join(home, "elsewhere")}
	folder := filepath.Join(home, "backups")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"askbus-20200101T000000Z.backup", "askbus-20210101T000000Z.backup", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere.must(0, "ledger", "backup", folder, "--keep", "2", "--creds", creds)
	left, _ := os.ReadDir(folder)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); !regexp.MustCompile(`^askbus-20210101T000000Z\.backup askbus-20[2-9]\d{5}T\d{6}Z\.backup notes\.txt$`).MatchString(got) {
		t.Errorf("left in the directory: %s", got)
	}
	natstest.Eventually(t, "the audit has the backup", func() bool {
		got := pl.audited("--action", "ledger.saved")
		return len(got) == 1 && got[0].Actor.Role == "saved" && got[0].Object.Note == "a backup of 1 pending asks and 0 ended ones"
	})
	if out, said, code := elsewhere.run("ledger", "restore", "--check", folder, "--output", "text"); code != 0 || !strings.Contains(out, names[1]) || !strings.Contains(out, "1 pending asks") {
		t.Errorf("check of the directory: exit %d, %s %s", code, out, said)
	}
	if _, said, code := elsewhere.run("ledger", "backup", filepath.Join(home, "one"), "--keep", "2", "--creds", creds); code != cli.ExitUsage || !strings.Contains(said, "--keep needs a directory") {
		t.Errorf("--keep with a file: exit %d, %s", code, said)
	}

	// A backup from a clock that was ahead protects no other: nothing is removed.
	ahead := filepath.Join(home, "ahead")
	if err := os.Mkdir(ahead, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"askbus-20200101T000000Z.backup", "askbus-29990101T000000Z.backup"} {
		if err := os.WriteFile(filepath.Join(ahead, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, said, code := elsewhere.run("ledger", "backup", ahead, "--keep", "2", "--creds", creds); code != cli.ExitFailure || !strings.Contains(said, "askbus-29990101T000000Z.backup is named later than now") {
		t.Errorf("with a name of the future: exit %d, %s", code, said)
	}
	if left, _ := filepath.Glob(filepath.Join(ahead, "*")); len(left) != 3 {
		t.Errorf("left with a name of the future: %q", left)
	}

	// Another credential is not taken for the wish to save the store of --dir.
	if text, said, code = pl.run("auth", "operator", "--output", "json"); code != 0 || os.WriteFile(creds+".operator", []byte(text), 0o600) != nil {
		t.Fatalf("auth operator: exit %d, %s", code, said)
	}
	if _, said, code := pl.run("ledger", "backup", filepath.Join(home, "one"), "--creds", creds+".operator"); code != cli.ExitUsage || !strings.Contains(said, `does not hold what "askbus auth backup" prints`) {
		t.Errorf("an operator's credential: exit %d, %s", code, said)
	}

	store := &fakes3.Store{Key: "k", Secret: "s", Region: "us-east-1", Bucket: "backups", Page: 2}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	env := []string{"AWS_ENDPOINT_URL_S3=" + server.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s"}
	inBucket := func(args ...string) (string, int) {
		t.Helper()
		p := startWith(t, env, "", append(args, "--dir", elsewhere.dir, "--output", "text")...)
		code := p.wait()
		return p.out.String() + p.err.String(), code
	}
	if out, code := inBucket("ledger", "restore", "--check", "s3://backups/bus/"); code == 0 || !strings.Contains(out, "there is no backup in s3://backups/bus/") {
		t.Errorf("an empty bucket: exit %d, %s", code, out)
	} else if strings.Contains(out, "without TLS") {
		t.Errorf("loopback: %s", out)
	}
	env[0] = strings.Replace(env[0], "127.0.0.1", "0.0.0.0", 1)
	if out, _ := inBucket("ledger", "restore", "--check", "s3://backups/bus/"); !strings.Contains(out, "has no TLS") {
		t.Errorf("another host without TLS: %s", out)
	}
	env[0] = strings.Replace(env[0], "0.0.0.0", "127.0.0.1", 1)
	for _, name := range []string{"bus/askbus-20200101T000000Z.backup", "bus/askbus-20210101T000000Z.backup", "bus/askbus-20220101T000000Z.backup", "bus/other", "askbus-20200101T000000Z.backup"} {
		store.Set(name, []byte("x"))
	}
	if out, code := inBucket("ledger", "backup", "s3://backups/bus/", "--keep", "1", "--creds", creds); code != 0 || !strings.Contains(out, "older backups removed: 3") {
		t.Fatalf("into a bucket: exit %d, %s", code, out)
	}
	keys := store.Keys()
	if len(keys) != 3 || keys[0] != "askbus-20200101T000000Z.backup" || keys[2] != "bus/other" {
		t.Errorf("left in the bucket: %q", keys)
	}
	if out, code := inBucket("ledger", "backup", "s3://backups/"+keys[1], "--creds", creds); code == 0 || !strings.Contains(out, "PreconditionFailed") {
		t.Errorf("over another one: exit %d, %s", code, out)
	}
	if out, code := inBucket("ledger", "restore", "s3://backups/bus/"); code != 0 || !strings.Contains(out, "1 pending asks") || !strings.Contains(out, keys[1]) {
		t.Errorf("restore: exit %d, %s", code, out)
	}
	if out, code := inBucket("ledger", "check"); code != 0 || !strings.Contains(out, "is whole") {
		t.Errorf("check: exit %d, %s", code, out)
	}
	store.Corrupt()
	if out, code := inBucket("ledger", "restore", "--check", "s3://backups/bus/"); code == 0 {
		t.Errorf("a changed file was accepted: %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
