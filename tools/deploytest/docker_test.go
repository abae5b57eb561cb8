package deploytest_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// dockerfile is the parsed deploy/Dockerfile.
type dockerfile struct {
	from, user, volume, workdir string
	entrypoint, command, health []string
	copies, env                 []string
	exposed                     []string
}

// readDockerfile parses the few instructions of ours. An unknown instruction is an error, because
// no test would check it.
func readDockerfile(t *testing.T) dockerfile {
	t.Helper()
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var d dockerfile
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		switch instruction {
		case "FROM":
			if d.from != "" {
				t.Fatal("the image has two stages")
			}
			d.from = rest
		case "COPY":
			d.copies = append(d.copies, rest)
		case "USER":
			d.user = rest
		case "VOLUME":
			d.volume = rest
		case "EXPOSE":
			d.exposed = strings.Fields(rest)
		case "ENTRYPOINT":
			d.entrypoint = words(t, rest)
		case "CMD":
			d.command = words(t, rest)
		case "HEALTHCHECK":
			_, cmd, _ := strings.Cut(rest, "CMD ")
			d.health = words(t, cmd)
		case "ENV":
			d.env = append(d.env, strings.Fields(rest)...)
		case "WORKDIR":
			d.workdir = rest
		default:
			t.Fatalf("this test does not know the instruction %s", instruction)
		}
	}
	return d
}

// words parses the exec form; scratch has no shell for the other form.
func words(t *testing.T, list string) []string {
	t.Helper()
	var w []string
	if err := json.Unmarshal([]byte(list), &w); err != nil {
		t.Fatalf("%s is not the exec form: %v", list, err)
	}
	return w
}

// flat splits "--flag=value", so that both spellings of a flag are equal.
func flat(args []string) []string {
	var out []string
	for _, a := range args {
		flag, value, ok := strings.Cut(a, "=")
		out = append(out, flag)
		if ok {
			out = append(out, value)
		}
	}
	return out
}

// port returns the port in a flag of the image's command.
func (d dockerfile) port(t *testing.T, flag string) int32 {
	t.Helper()
	i := slices.Index(d.command, flag)
	if i < 0 || i+1 == len(d.command) {
		t.Fatalf("the image's command has no %s", flag)
	}
	host, port, err := net.SplitHostPort(d.command[i+1])
	if err != nil || host != "0.0.0.0" {
		t.Errorf("%s is %q: in a container it binds 0.0.0.0", flag, d.command[i+1])
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}

func TestImageHoldsOurBinaryAndNothingElse(t *testing.T) {
	t.Parallel()
	d := readDockerfile(t)
	if d.from != "scratch" {
		t.Errorf("the image is made from %q", d.from)
	}
	if want := []string{"--chown=65532:65532 data /data", "askbus /askbus"}; !slices.Equal(d.copies, want) {
		t.Errorf("the image holds %q, want %q", d.copies, want)
	}
	if d.user != "65532:65532" {
		t.Errorf("the image runs as %q", d.user)
	}
	if d.volume != "/data" || !slices.Contains(d.command, d.volume) {
		t.Errorf("the volume is %q, and the command %q", d.volume, d.command)
	}
	if !slices.Equal(d.entrypoint, []string{"/askbus"}) || len(d.health) == 0 || d.health[0] != "/askbus" {
		t.Errorf("the entry point is %q, the health check %q", d.entrypoint, d.health)
	}
	for _, flag := range []string{"--nats-addr", "--http-addr", "--ops-addr"} {
		if port := strconv.Itoa(int(d.port(t, flag))); !slices.Contains(d.exposed, port) {
			t.Errorf("%s is %s, and exposed are %q", flag, port, d.exposed)
		}
	}
	ops := "http://127.0.0.1:" + strconv.Itoa(int(d.port(t, "--ops-addr")))
	if d.health[len(d.health)-1] != ops {
		t.Errorf("the health check is %q, and the ops port is at %s", d.health, ops)
	}
}

func TestComposeFileIsClosedToTheNetwork(t *testing.T) {
	t.Parallel()
	image := readDockerfile(t)
	published := map[string]string{}
	for name, s := range compose(t, nil, "slack", "telegram", "teams", "mattermost", "feishu", "discord", "email").Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("port %d of %s is published on %q", p.Target, name, p.HostIP)
			}
			if other, ok := published[p.Published]; ok {
				t.Errorf("%s and %s publish port %s", name, other, p.Published)
			}
			published[p.Published] = name
		}
		if s.User != image.user || !s.ReadOnly || s.Privileged || s.NetworkMode == "host" {
			t.Errorf("%s: user %q, read only %v, privileged %v, network %q", name, s.User, s.ReadOnly, s.Privileged, s.NetworkMode)
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s drops %q, adds %q, security options %q", name, s.CapDrop, s.CapAdd, s.SecurityOpt)
		}
		if len(s.Entrypoint) > 0 {
			t.Errorf("%s: the image's entry point is replaced", name)
		}
		if s.Restart == "no" {
			continue // it makes keys or credentials, and ends
		}
		if s.HealthCheck == nil || !slices.Equal([]string(s.HealthCheck.Test), append([]string{"CMD"}, image.health...)) {
			t.Errorf("the health check of %s is %+v, and the image's %q", name, s.HealthCheck, image.health)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < 30*time.Second {
			t.Errorf("%s has no time to drain", name)
		}
	}
	if len(published) != 8 {
		t.Errorf("published are %v", published)
	}
}

// A role gets only its own credential, and only servers and issuers of credentials get the keys.
func TestComposeGivesEachRoleItsOwnCredential(t *testing.T) {
	t.Parallel()
	p := compose(t, nil, "slack", "telegram", "teams", "mattermost", "feishu", "discord", "email")
	if len(p.Services) != 24 {
		t.Errorf("services are %q", p.ServiceNames())
	}
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			switch {
			case v.Source == name && v.Target == "/data", v.Source == "keys" && (name == "keys" || strings.HasPrefix(name, "creds-")):
			case v.Source == "keys" && v.ReadOnly && slices.Contains(s.Command, "--key-of"):
			case v.Source == "creds-"+name && v.ReadOnly && v.Target == "/creds":
			case name == "broker" && v.ReadOnly && v.Target == "/approvals":
			default:
				t.Errorf("%s mounts %s at %s", name, v.Source, v.Target)
			}
		}
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		s := p.Services[n]
		if !slices.Contains(s.Command, "n1=n1:6222,n2=n2:6222,n3=n3:6222") || s.Command[len(s.Command)-1] != n {
			t.Errorf("%s is started with %q", n, s.Command)
		}
	}
	if b := p.Services["broker"]; b.Deploy == nil || b.Deploy.Replicas == nil || *b.Deploy.Replicas != 2 || !slices.Contains(b.Command, "3") {
		t.Error("there are not two brokers with three copies")
	}
	if _, ok := compose(t, nil).Services["slack"]; ok {
		t.Error("Slack starts without its profile")
	}
}

// An unset variable must be absent: an empty duration does not parse.
func TestComposeFilePassesOnlySetVariables(t *testing.T) {
	t.Parallel()
	for service, s := range compose(t, nil, "slack", "telegram", "teams", "mattermost", "feishu", "discord", "email").Services {
		for name, v := range s.Environment {
			if v != nil && *v == "" {
				t.Errorf("%s of %s is empty, and nobody set it", name, service)
			}
		}
	}
	s := compose(t, []string{"ASKBUS_RETENTION=1h", "ASKBUS_IMAGE=askbus:1.2.3"}).Services["broker"]
	if v := s.Environment["ASKBUS_RETENTION"]; v == nil || *v != "1h" {
		t.Errorf("ASKBUS_RETENTION is %v", v)
	}
	if s.Image != "askbus:1.2.3" {
		t.Errorf("the image is %q", s.Image)
	}
}

func compose(t *testing.T, env []string, profiles ...string) *types.Project {
	t.Helper()
	path, err := filepath.Abs("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	options, err := cli.NewProjectOptions([]string{path}, cli.WithEnv(env), cli.WithProfiles(profiles))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}
