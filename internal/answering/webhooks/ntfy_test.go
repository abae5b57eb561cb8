package webhooks_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// notice is a message as ntfy takes it.
type notice struct {
	Topic    string   `json:"topic"`
	Sequence string   `json:"sequence_id"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click"`
	Actions  []struct {
		Action string `json:"action"`
		Label  string `json:"label"`
		URL    string `json:"url"`
		Method string `json:"method"`
		Clear  bool   `json:"clear"`
	} `json:"actions"`
}

func (n *notice) labels() string {
	var all []string
	for _, one := range n.Actions {
		all = append(all, one.Action+" "+one.Label)
	}
	return strings.Join(all, ", ")
}

// published returns the next message, which is within ntfy's limits.
func (w *world) published() (n notice) {
	w.t.Helper()
	c := w.next()
	if err := json.Unmarshal(c.body, &n); err != nil {
		w.t.Fatal(err)
	}
	id := regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)
	if c.path != "/" || n.Topic != "asks" || !id.MatchString(n.Sequence) || len(n.Message) > 4096 || len(c.body) > 8192 || len(n.Actions) > 3 || n.Priority < 1 || n.Priority > 5 {
		w.t.Errorf("to %s, %d bytes: %s", c.path, len(c.body), c.body)
	}
	if got := c.header.Get("Authorization"); got != "Bearer tk_secret" {
		w.t.Errorf("authorized by %q", got)
	}
	return n
}

// A topic of ntfy gets a message with a button for each option, which answers with that option only, and the outcome in
// its place.
func TestATopicOfNtfy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.write("token", "tk_secret\n")
	w.replica("surfaces:\n" + strings.Replace(w.entry("asks"), "{", "{ format: ntfy, token_file: token,", 1))

	w.ask("a1", "")
	n := w.published()
	if n.labels() != "http PostgreSQL, http SQLite" || !strings.Contains(n.Message, "Which database?") || n.Click != "https://bus.example.com/ask/acme/s1/a1" || n.Priority != 3 {
		t.Fatalf("it publishes %+v", n)
	}
	lite := n.Actions[1].URL
	for name, bad := range map[string]string{"a file": lite + "/files?name=x.txt", "cut": lite[:len(lite)-2], "another path": strings.Replace(lite, "/answer/", "/answers/", 1)} {
		if code, text := w.post(w.apps[0], bad, "text"); code == 200 || code == 201 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	// What is posted besides changes nothing: the address is that of one option.
	code, text := w.post(w.apps[0], lite, `{"answers":[{"question_id":"db","selected":["pg"]}]}`)
	if code != 200 || !strings.Contains(text, `"principal":"webhook:asks"`) || !strings.Contains(text, `"lite"`) {
		t.Fatalf("%d %s", code, text)
	}
	if again, same := w.post(w.apps[0], lite, ""); again != 200 || same != text {
		t.Errorf("pressed again: %d %s", again, same)
	}
	if late, text := w.post(w.apps[0], n.Actions[0].URL, ""); late != 409 || !strings.Contains(text, "webhook:asks") {
		t.Errorf("another button: %d %s", late, text)
	}
	if end := w.published(); end.Sequence != n.Sequence || len(end.Actions) > 0 || !strings.Contains(end.Message, "SQLite") || end.Priority != 2 {
		t.Errorf("then %+v", end)
	}

	// What a press could not answer, or must not, has the link only.
	for id, change := range map[string]func(*ask.Ask){
		"destructive": func(a *ask.Ask) { a.Questions[0].Options[1].Destructive = true },
		"several":     func(a *ask.Ask) { a.Questions[0].Multiple = true },
		"two": func(a *ask.Ask) {
			a.Questions = append(a.Questions, ask.Question{ID: "why", Kind: ask.KindText, Text: "Why?"})
		},
		"four": func(a *ask.Ask) {
			a.Questions[0].Options = append(a.Questions[0].Options, ask.Option{ID: "c", Label: "C"}, ask.Option{ID: "d", Label: "D"})
		},
		"words": func(a *ask.Ask) { a.Questions[0].Kind, a.Questions[0].Options = ask.KindText, nil },
		"long":  func(a *ask.Ask) { a.Context, a.Priority = strings.Repeat(`"x" `, 4_000), ask.PriorityUrgent },
	} {
		a := database(id)
		change(&a)
		w.put(a)
		n, want := w.published(), "view Open in browser"
		if !strings.Contains(n.Message, "Which database?") && id != "words" || strings.Contains(n.Message, "number") {
			t.Errorf("%s says %q", id, n.Message)
		}
		if id == "long" {
			want = "http PostgreSQL, http SQLite"
		}
		if n.labels() != want || n.Priority == 5 != (id == "long") || strings.Contains(n.Message, "Not everything fits here.") != (id == "long") {
			t.Errorf("%s: %+v", id, n)
		}
	}
}
