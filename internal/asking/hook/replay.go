package hook

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

//go:embed sample.jsonl
var sample []byte

// Sample returns a short conversation for [Replay].
func Sample() []byte { return bytes.Clone(sample) }

// move is a line of a recorded conversation: the host's input, or a person's action at another
// screen.
type move struct {
	Event   string          `json:"hook_event_name"`
	Answer  json.RawMessage `json:"answer"`  // { "<question text>": "<label>" }, as claude-code writes answers
	Decline *string         `json:"decline"` // the reason
	Nothing bool            `json:"nothing"` // no answer before the limit
}

func (m move) person() bool { return m.Answer != nil || m.Decline != nil || m.Nothing }

// Replay plays a recorded conversation without a bus and shows what the hook
// would print. A conversation is a sequence of JSON objects: the host's standard input, each
// optionally followed by a person's action elsewhere: {"answer": {…}}, {"decline": "why"} or
// {"nothing": true}. Without an action the first option is chosen.
func Replay(w io.Writer, mode Mode, conversation []byte) error {
	var moves []json.RawMessage
	for d := json.NewDecoder(bytes.NewReader(conversation)); ; {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("event %d is not JSON: %w", len(moves)+1, err)
		}
		moves = append(moves, raw)
	}
	for i := 0; i < len(moves); i++ {
		var then move
		if i+1 < len(moves) {
			if err := json.Unmarshal(moves[i+1], &then); err != nil {
				then = move{} // reported with the next event
			}
		}
		replay(w, mode, moves[i], then)
		if then.person() {
			i++
		}
	}
	return nil
}

func replay(w io.Writer, mode Mode, body []byte, then move) {
	event, ok, err := hostcall.ReadEvent(body)
	if err != nil || !ok {
		fmt.Fprintln(w, "host sends   something else")
		fmt.Fprintln(w, "hook prints  nothing"+why(err))
		return
	}
	fmt.Fprintf(w, "host sends   %s %s\n", ask.CleanLine(event.Name), ask.CleanLine(event.Ask.ID))
	for line := range strings.SplitSeq(event.Ask.Plain(), "\n") {
		fmt.Fprintf(w, "             %s\n", line)
	}
	for _, warning := range event.Warnings {
		fmt.Fprintf(w, "             warning: %s\n", ask.CleanLine(fmt.Sprint(warning)))
	}
	if reply, ok := event.Native(); ok {
		o := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: reply.Answers, Response: reply.Response, By: &ask.By{Name: "somebody", Responder: ask.ResponderNative}}
		fmt.Fprintf(w, "terminal     %s\n", indented(dialect.Report(&event.Ask, &o)))
		fmt.Fprintln(w, "hook prints  nothing; the answer is recorded, and every other screen closes")
		return
	}
	switch {
	case event.Name == hostcall.PostToolUse:
		fmt.Fprintln(w, "hook prints  nothing")
		return
	case event.Name == hostcall.PreToolUse && mode == Race:
		fmt.Fprintln(w, "hook prints  nothing; the terminal's dialog opens beside the other screens")
		return
	case then.Nothing && mode == Defer && event.Defer() != nil:
		fmt.Fprintf(w, "person       does nothing\nhook prints  %s\n", ask.CleanJSON(event.Defer()))
		return
	case then.Nothing:
		fmt.Fprintln(w, "person       does nothing")
		fmt.Fprintln(w, "hook prints  nothing; the question stays open")
		return
	}
	o, err := outcome(&event.Ask, then)
	if err != nil {
		fmt.Fprintf(w, "person       gives an answer that does not fit%s\n", why(err))
		return
	}
	fmt.Fprintf(w, "person       %s\n", indented(dialect.Report(&event.Ask, o)))
	if out := event.Decide(o); out != nil {
		fmt.Fprintf(w, "hook prints  %s\n", ask.CleanJSON(out))
	} else {
		fmt.Fprintln(w, "hook prints  nothing")
	}
}

func why(err error) string {
	if err == nil {
		return ""
	}
	return ": " + ask.CleanLine(err.Error())
}

func indented(s string) string { return strings.ReplaceAll(ask.CleanText(s), "\n", "\n             ") }

// outcome returns the outcome of a person's action.
func outcome(a *ask.Ask, m move) (*ask.Outcome, error) {
	o := &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Principal: "example", Name: "Somebody", Responder: "web"}}
	if m.Decline != nil {
		o.Status, o.Source, o.Reason = ask.StatusCancelled, "", *m.Decline
		return o, nil
	}
	reply := ask.Reply{}
	for i := range a.Questions {
		if q := &a.Questions[i]; len(q.Options) > 0 {
			reply.Answers = append(reply.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{q.Options[0].ID}})
		}
	}
	if m.Answer != nil {
		body, err := json.Marshal(map[string]json.RawMessage{"answers": m.Answer})
		if err != nil {
			return nil, err
		}
		given, err := dialect.Named("claude-code").Reply(a, body)
		if err != nil {
			return nil, err
		}
		reply = given.Reply
	}
	answers, cancelled, err := a.Check(reply)
	if err != nil {
		return nil, err
	}
	if o.Answers, o.CancelledBy = answers, cancelled; cancelled != nil {
		o.Status, o.Source = ask.StatusCancelled, ""
	}
	return o, nil
}
