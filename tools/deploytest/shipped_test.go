//go:build linux

package deploytest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shipped is an installed program.
type shipped struct {
	t      *testing.T
	path   string              // of the program, as its process sees it
	env    []string            // all of its environment
	work   string              // its working directory, as its process sees it
	attr   syscall.SysProcAttr // who runs it, and where its root is
	state  string              // where its data is, as this test sees it
	up     []string            // starts everything
	health []string            // its health check, but for the address
}

// Starts the build of `make build`, asks, answers, kills and restarts it, and checks its version.
func TestTheBinaryThatMakeBuildsRuns(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	holdsNoSabotage(t, path)
	dir := t.TempDir()
	s := shipped{
		t: t, path: path, work: dir, env: []string{"HOME=" + dir, "USER=askbus", "ASKBUS_DIR=" + dir}, state: dir,
		up:     []string{"up", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--no-open"},
		health: []string{"health", "--addr"},
	}
	s.survives()
}

// Starts what the service of the Debian and RPM packages starts, in another directory and at free ports.
func TestTheServiceOfThePackagesRuns(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/systemd/askbus.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			unit[name] += value
		}
	}
	if unit["Environment"] != "ASKBUS_DIR=/var/lib/"+unit["StateDirectory"] {
		t.Errorf("the data is in %s, and the service may write in %s", unit["Environment"], unit["StateDirectory"])
	}
	command, dir := strings.Fields(unit["ExecStart"]), t.TempDir()
	s := shipped{
		t: t, path: path, work: dir, state: dir, up: command[1:], health: []string{"health", "--addr"},
		env: []string{"HOME=" + dir, "USER=" + unit["User"], "ASKBUS_DIR=" + dir, "ASKBUS_NATS_ADDR=127.0.0.1:0", "ASKBUS_HTTP_ADDR=127.0.0.1:0"},
	}
	s.survives()
}

// Releases are built with the profile, which `make build` leaves out: it compiles everything again.
func TestReleasesAreBuiltWithTheProfile(t *testing.T) {
	t.Parallel()
	const profile = "pgo=cmd/askbus/release.pgo"
	if _, err := os.Stat("../../cmd/askbus/release.pgo"); err != nil {
		t.Error(err)
	}
	for _, file := range []string{".goreleaser.yaml", ".github/workflows/release.yml"} {
		if text, err := os.ReadFile(filepath.Join("../..", file)); err != nil || !strings.Contains(strings.ToLower(string(text)), profile) {
			t.Errorf("%s does not build with %s: %v", file, profile, err)
		}
	}
	said, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--dry-run", "build", "PGO=cmd/askbus/release.pgo").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "go build -"+profile) {
		t.Errorf("make build PGO=… runs %s: %v", said, err)
	}
}

// holdsNoSabotage checks that a program cannot be told to break its promises: it contains neither
// the flag, nor its values, nor the package.
func holdsNoSabotage(t *testing.T, path string) {
	t.Helper()
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"sabotage", "no-compare", "answer-unkept", "tell-other"} {
		if bytes.Contains(program, []byte(word)) {
			t.Errorf("the program contains %q", word)
		}
	}
	for _, of := range []string{"torture", "bench"} {
		if out, err := askbus(t, of).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("unknown command")) {
			t.Errorf("the program has the laboratory's %s: %v: %s", of, err, out)
		}
	}
}

// Tests the image without Docker: with its files as the root file system, and its user, environment
// and command, except for the ports, which are free ones.
func TestTheFilesOfTheImageRun(t *testing.T) {
	t.Parallel()
	image, root := readDockerfile(t), filepath.Join(t.TempDir(), "image")
	if err := target("image-files", "IMAGEDIR="+root); err != nil {
		t.Fatal(err)
	}
	// The context of docker build has the layout of the image.
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var copies []string
	for _, e := range entries {
		copies = append(copies, e.Name()+" /"+e.Name())
	}
	for i, c := range image.copies {
		image.copies[i] = strings.TrimPrefix(c, "--chown="+image.user+" ")
	}
	if slices.Sort(image.copies); !slices.Equal(copies, image.copies) {
		t.Fatalf("make image-files writes %q, and the image holds %q", copies, image.copies)
	}
	s := shipped{
		t: t, path: image.entrypoint[0], env: image.env, work: image.workdir, state: filepath.Join(root, image.volume),
		up: slices.Clone(image.command), health: slices.Clone(image.health[1 : len(image.health)-1]),
	}
	for i, a := range s.up {
		if strings.HasPrefix(a, "0.0.0.0:") {
			s.up[i] = "127.0.0.1:0"
		}
	}
	if os.Geteuid() == 0 {
		s.confine(root, image.user)
	} else { // without chroot the same files run, at paths of this machine
		s.path, s.work = filepath.Join(root, s.path), s.state
		for _, list := range [][]string{s.env, s.up} {
			for i := range list {
				list[i] = strings.Replace(list[i], image.volume, s.state, 1)
			}
		}
	}
	s.survives()
}

// confine makes root the only file system that the program sees, and user its user.
func (s *shipped) confine(root, user string) {
	s.t.Helper()
	id, err := strconv.ParseUint(strings.Split(user, ":")[0], 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(s.state, int(id), int(id)); err != nil {
		s.t.Fatal(err)
	}
	s.attr = syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
}

// survives starts the program, asks, answers, kills it, restarts it, and checks that nothing is
// lost.
func (s *shipped) survives() {
	s.t.Helper()
	if got, want := s.must(0, "version")["version"], stamp(); got != want {
		s.t.Errorf("the version is %q, and make stamps %q", got, want)
	}
	first := s.start()
	for _, id := range []string{"before", "after"} {
		s.must(3, "ask", "--question", "Ship it?", "--option", "Yes", "--option", "No", "--id", id, "--session", "s", "--wait", "0")
	}
	s.answered("answer", "s/before", "--select", "q1=o1")
	first.kill()

	second := s.start()
	s.answered("wait", "s/before", "--wait", "10s")
	s.answered("answer", "s/after", "--select", "q1=o2")
	s.answered("wait", "s/after", "--wait", "10s")
	ops := opsURL(s.state)
	if err := second.stop(); err != nil {
		s.t.Errorf("after SIGTERM: %v\n%s", err, second.log)
	}
	if s.command(append(slices.Clone(s.health), ops)...).Run() == nil {
		s.t.Error("the health check also passes when nobody is there")
	}
}

// stamp returns the version that the Makefile gives to a build of this clone.
func stamp() string {
	out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "devel"
	}
	return strings.TrimSpace(string(out))
}

func (s *shipped) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), s.path, args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = s.env, s.work, new(s.attr)
	return cmd
}

// must runs a command, checks its exit code and decodes its JSON.
func (s *shipped) must(code int, args ...string) map[string]any {
	s.t.Helper()
	cmd := s.command(append(args, "--output", "json")...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		s.t.Fatalf("askbus %q: %v, want exit code %d\n%s%s", args, err, code, &out, &said)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		s.t.Fatalf("askbus %q: %v\n%s", args, err, &out)
	}
	return got
}

// answered runs a command that prints an outcome.
func (s *shipped) answered(args ...string) {
	s.t.Helper()
	if o := s.must(0, args...); o["status"] != "answered" {
		s.t.Errorf("askbus %q shows %v", args, o)
	}
}

// server is a running "askbus up".
type server struct {
	cmd   *exec.Cmd
	log   *bytes.Buffer
	ended chan error
}

// start starts the program and waits for the health check.
func (s *shipped) start() *server {
	s.t.Helper()
	up := &server{cmd: s.command(s.up...), log: new(bytes.Buffer), ended: make(chan error, 1)}
	up.cmd.Stdout, up.cmd.Stderr = up.log, up.log
	if err := up.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { up.ended <- up.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		if ops := opsURL(s.state); ops != "" && s.command(append(slices.Clone(s.health), ops)...).Run() == nil {
			return up
		}
		select {
		case err := <-up.ended:
			s.t.Fatalf("askbus %q ended: %v\n%s", s.up, err, up.log)
		case <-ctx.Done():
			s.t.Fatal("askbus up is not healthy after a minute")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (u *server) kill() {
	_ = u.cmd.Process.Kill()
	<-u.ended
}

// stop stops it as Docker and systemd do.
func (u *server) stop() error {
	if err := u.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-u.ended:
		return err
	case <-time.After(time.Minute):
		u.kill()
		return errors.New("it did not end within a minute")
	}
}
