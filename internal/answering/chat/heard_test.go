package chat_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

var when = time.Date(2026, 11, 21, 10, 2, 0, 0, time.UTC)

func record(a ask.Ask) *ask.Record {
	a.Normalize()
	a.ID, a.Tenant, a.Session = "a1", "default", "s1"
	return &ask.Record{State: ask.StatePending, Ask: a, AskedAt: when, Life: "l1"}
}

func TestListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		mentioned bool
		want      chat.Heard
	}{
		{"answer: 1", false, chat.Heard{"1", true}},
		{"Answer : yes ", false, chat.Heard{"yes", true}},
		{"回答：第一个", false, chat.Heard{"第一个", true}},
		{"answer:", false, chat.Heard{"", true}},
		{" 2, please", true, chat.Heard{"2, please", true}},
		{": answer: 2", true, chat.Heard{"2", true}},
		{"1", false, chat.Heard{"1", false}},
		{"my answer: 1", false, chat.Heard{"my answer: 1", false}},
		{"the answer is: 1", false, chat.Heard{"the answer is: 1", false}},
		{"answers: 1", false, chat.Heard{"answers: 1", false}},
		{"hm, what do you think?", false, chat.Heard{"hm, what do you think?", false}},
	} {
		if got := chat.Listen(c.text, c.mentioned); got != c.want {
			t.Errorf("%q, mentioned %v: %+v, want %+v", c.text, c.mentioned, got, c.want)
		}
	}
}

func TestWhatIsAnAnswer(t *testing.T) {
	t.Parallel()
	choice := func(labels ...string) *ask.Ask {
		q := ask.Question{ID: "q", Text: "Which?"}
		for i, l := range labels {
			q.Options = append(q.Options, ask.Option{ID: fmt.Sprint("o", i), Label: l})
		}
		return &record(ask.Ask{Questions: []ask.Question{q}}).Ask
	}
	database, yes := choice("PostgreSQL", "SQLite"), &record(ask.Ask{Questions: []ask.Question{{Text: "Ready?", Kind: ask.KindBoolean}}}).Ask
	four := &record(ask.Ask{Questions: []ask.Question{{ID: "a", Text: "A?"}, {ID: "b", Text: "B?"}}}).Ask
	strong := choice("Blue", "Green")
	strong.MinProof = "oidc"
	voted, marked, only := choice("Blue", "Green"), choice("Blue", "Green"), choice("Blue", "Green")
	voted.Approval = &ask.Approval{}
	marked.Metadata = map[string]any{ask.MetadataPermission: "a call"}
	only.Only = "asker"
	destroys := choice("Keep it", "Drop it")
	destroys.Questions[0].Options[1].Destructive = true
	for _, c := range []struct {
		name   string
		h      chat.Heard
		open   []*ask.Ask
		others bool
		want   bool
	}{
		{"a number", chat.Heard{Words: "1"}, []*ask.Ask{database}, false, true},
		{"a label", chat.Heard{Words: "postgresql"}, []*ask.Ask{database}, false, true},
		{"an id", chat.Heard{Words: "o1"}, []*ask.Ask{database}, false, true},
		{"yes", chat.Heard{Words: "Yes"}, []*ask.Ask{yes}, false, true},
		{"a part of a label", chat.Heard{Words: "postgres"}, []*ask.Ask{database}, false, false},
		{"a number that is none", chat.Heard{Words: "3"}, []*ask.Ask{database}, false, false},
		{"a sentence that begins with one", chat.Heard{Words: "1, or what do you think?"}, []*ask.Ask{database}, false, false},
		{"others wrote", chat.Heard{Words: "1"}, []*ask.Ask{database}, true, false},
		{"others wrote, but it is addressed", chat.Heard{Words: "1", Addressed: true}, []*ask.Ask{database}, true, true},
		{"two open asks", chat.Heard{Words: "1"}, []*ask.Ask{database, yes}, false, false},
		{"two open asks, addressed", chat.Heard{Words: "1", Addressed: true}, []*ask.Ask{database, yes}, false, false},
		{"several questions", chat.Heard{Words: "1"}, []*ask.Ask{four}, false, false},
		{"a text", chat.Heard{Words: "yes"}, []*ask.Ask{&record(ask.Ask{Questions: []ask.Question{{Text: "Name?", Kind: ask.KindText}}}).Ask}, false, false},
		{"a permission", chat.Heard{Words: "1"}, []*ask.Ask{choice("Allow once", "Reject")}, false, false},
		{"an approval", chat.Heard{Words: "approve"}, []*ask.Ask{choice("Approve", "Later")}, false, false},
		{"one that demands a proof", chat.Heard{Words: "1"}, []*ask.Ask{strong}, false, false},
		{"a vote", chat.Heard{Words: "1"}, []*ask.Ask{voted}, false, false},
		{"a vote in words that are addressed", chat.Heard{Words: "1", Addressed: true}, []*ask.Ask{voted}, false, true},
		{"a tool call's permission", chat.Heard{Words: "1"}, []*ask.Ask{marked}, false, false},
		{"one for the asker alone", chat.Heard{Words: "1"}, []*ask.Ask{only}, false, false},
		{"one with a destructive option", chat.Heard{Words: "1"}, []*ask.Ask{destroys}, false, false},
		{"an addressed approval", chat.Heard{Words: "approve", Addressed: true}, []*ask.Ask{choice("Approve", "Later")}, false, true},
		{"nothing", chat.Heard{Addressed: true}, []*ask.Ask{database}, false, false},
		{"no ask", chat.Heard{Words: "1", Addressed: true}, nil, false, false},
	} {
		if got := c.h.Answers(c.open, c.others); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestDeclines(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{"decline": "", "Decline: too risky": "too risky", "拒绝：太早": "太早"} {
		if reason, ok := chat.Declines(words); !ok || reason != want {
			t.Errorf("%q: %q %v", words, reason, ok)
		}
	}
	for _, words := range []string{"declined offers stay", "decline politely", "do not decline: ask"} {
		if _, ok := chat.Declines(words); ok {
			t.Errorf("%q declines", words)
		}
	}
}

func TestMeant(t *testing.T) {
	t.Parallel()
	rec := record(ask.Ask{Questions: []ask.Question{
		{ID: "db", Text: "Which?", NoOther: true, Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}}},
		{ID: "n", Text: "How many?", Kind: ask.KindNumber},
		{ID: "ok", Text: "Ready?", Kind: ask.KindBoolean},
		{ID: "day", Text: "When?", Kind: ask.KindDate},
	}})
	d := card.New(rec, card.Viewer{}, when).Draft()
	if got := fmt.Sprint(chat.Meant(&rec.Ask, d, "1")); got != "[0 1 2]" {
		t.Errorf("1 may answer %s", got)
	}
	d.Set(ask.Answer{QuestionID: "db", Selected: []string{"pg"}})
	if got := fmt.Sprint(chat.Meant(&rec.Ask, d, "1")); got != "[1 2]" {
		t.Errorf("then it may answer %s", got)
	}
}
