package chat_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
)

// A user with two principals is always the same one of them, and for an ask that names one, that one.
func TestPrincipalOfAUser(t *testing.T) {
	t.Parallel()
	r := chat.Routes{People: map[string]string{"oidc:mei": "1", "os:mei": "1", "os:tom": "2"}}
	for range 20 {
		for _, c := range []struct {
			user     string
			audience []string
			want     string
		}{
			{"1", nil, "oidc:mei"}, {"1", []string{"os:mei"}, "os:mei"}, {"1", []string{"group:x", "oidc:mei"}, "oidc:mei"}, {"2", nil, "os:tom"}, {"3", nil, ""},
		} {
			if got := r.Principal(c.user, c.audience); got != c.want {
				t.Fatalf("user %s for %v is %q, want %q", c.user, c.audience, got, c.want)
			}
		}
	}
}

// Every fault of a routing file is named with its position, all at once.
func TestRoutesNameEveryFault(t *testing.T) {
	t.Parallel()
	ids := chat.IDs{Channel: "^C[0-9]+$", Person: "^U[0-9]+$", Group: "^S[0-9]+$", Mention: "^[US][0-9]+$", Threads: []string{chat.ThreadsMention}}
	_, err := chat.ParseRoutes([]byte(`
default: {channel: general, threads: always, language: "?"}
groups: {dba: nobody}
people: {"oidc:mei": C1, "slack:T1/U2": C2}
routes:
  - {match: {}, to: {channel: C1}}
  - {match: {tenant: "["}, to: {channel: C1, person: U1, mention: [here]}}
  - {match: {priority: [soon]}, to: {}}
`), ids)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, at := range []string{"/default/channel", "/default/threads", "/default/language", "/groups/dba", "/people/oidc:mei", "/people/slack:T1~1U2", "/routes/0/match", "/routes/1/match/tenant", "/routes/1/to", "/routes/1/to/mention/0", "/routes/2/match/priority/0", "/routes/2/to"} {
		if !strings.Contains(err.Error(), at+": ") {
			t.Errorf("%s is not named in: %v", at, err)
		}
	}
	if _, err := chat.ParseRoutes([]byte("default: {channel: C1}\nroutes: [{match: {tenent: a}, to: {channel: 7}}]"), ids); err == nil || !strings.Contains(err.Error(), "/routes/0/match/tenent") || !strings.Contains(err.Error(), "/routes/0/to/channel") {
		t.Errorf("unknown field and wrong type: %v", err)
	}
}

// Another pairing leaves the rest of a file as its authors wrote it; only a file of another layout is written again.
func TestAnotherPairing(t *testing.T) {
	t.Parallel()
	parse := func(data []byte) (*chat.Routes, error) {
		return chat.ParseRoutes(data, chat.IDs{Channel: "^C", Person: "^U", Group: "^S"})
	}
	for name, c := range map[string]struct {
		people        map[string]string
		before, after string
	}{
		"a block":            {nil, "# ours\ndefault:\n  person: U1\n  # at night\npeople: # who\n  os:mei: U1\n", "# ours\ndefault:\n    channel: C2\npeople: # who\n  os:mei: U1\n"},
		"a line":             {nil, "default: { person: U1 }\n# rules\nroutes: []", "default:\n    channel: C2\n# rules\nroutes: []"},
		"JSON":               {nil, `{"default": {"person": "U1"}, "people": {"os:mei": "U1"}}`, "default:\n    channel: C2\npeople:\n    os:mei: U1\n"},
		"somebody else":      {map[string]string{"os:jo": "U2"}, "default: { person: U1 }\npeople: # who\n  # the boss\n  os:mei: U1\ngroups: { dba: S1 }\n", "default:\n    channel: C2\npeople: # who\n  os:jo: U2\n  # the boss\n  os:mei: U1\ngroups: { dba: S1 }\n"},
		"the same person":    {map[string]string{"os:mei": "U2"}, "default: { person: U1 }\npeople:\n  \"os:mei\": U1\n  os:mei2: U3\n", "default:\n    channel: C2\npeople:\n  os:mei: U2\n  os:mei2: U3\n"},
		"the first person":   {map[string]string{"os:mei": "U2"}, "default: { channel: C1 }\n# rules\nroutes: []", "default:\n    channel: C2\n# rules\nroutes: []\npeople:\n    os:mei: U2\n"},
		"people in one line": {map[string]string{"os:jo": "U2"}, "default: { channel: C1 }\npeople: { os:mei: U1 }\n", "default:\n    channel: C2\npeople:\n    os:jo: U2\n    os:mei: U1\n"},
		"rules in a block":   {map[string]string{"os:mei": "U2"}, "default: { channel: C1 }\nroutes:\n- match: { tenant: a }\n  to: { channel: C3 }\npeople:\n  os:mei: U1", "default:\n    channel: C2\nroutes:\n- match: { tenant: a }\n  to: { channel: C3 }\npeople:\n  os:mei: U2\n"},
	} {
		if got, err := chat.WithPairing([]byte(c.before), chat.Target{Channel: "C2"}, c.people, parse); err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if _, err := chat.WithPairing([]byte("default: { person: U1 }\n"), chat.Target{Channel: "D2"}, nil, parse); err == nil {
		t.Error("an invalid id is taken")
	}
	if _, err := chat.WithPairing([]byte("default: [\n"), chat.Target{Channel: "C2"}, nil, parse); err == nil {
		t.Error("a broken file is taken")
	}
}
