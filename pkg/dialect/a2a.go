package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// An ask is a task in INPUT_REQUIRED, because nobody can send a message to a
// WORKING one, so it could not be answered over A2A. The official SDK's server is not
// used, because it owns tasks and their store, which are asks on the bus here.
const a2aName = "a2a"

// The A2A task states that are used here.
const (
	a2aInput     = "TASK_STATE_INPUT_REQUIRED"
	a2aCompleted = "TASK_STATE_COMPLETED"
	a2aRejected  = "TASK_STATE_REJECTED"
	a2aCanceled  = "TASK_STATE_CANCELED"
	a2aFailed    = "TASK_STATE_FAILED"
)

// a2aAsk reads the parameters of SendMessage, its message, or another agent's
// task that waits for input: a data part with questions as in native JSON, or
// text, which is one question. Text next to the data of a message describes it;
// text next to the data of a task repeats it. Files are evidence.
func a2aAsk(b *builder, v value) {
	v.body()
	v.ignore("configuration", "metadata", "tenant")
	message, task := v, v.field("status").given()
	switch {
	case task:
		v.ignore("id", "kind", "artifacts", "history")
		v.field("status").ignore("state", "timestamp")
		message = v.field("status").field("message")
	case v.field("message").given():
		message = v.field("message")
	}
	message.object()
	message.ignore("role", "kind", "extensions", "referenceTaskIds", "metadata", "taskId")
	b.session(cmp.Or(message.field("contextId").string(), v.field("contextId").string()))
	if id := message.field("messageId").string(); id != "" { // its sender made it unique
		b.ask.ID = ask.Token(id)
	}
	parts := message.field("parts")
	texts, data, beside, files := a2aParts(parts)
	switch {
	case data.given():
		b.native(data)
		if b.ask.Context == "" && !task {
			b.ask.Context = strings.Join(append(texts, beside...), "\n\n")
		}
	case len(texts) > 0:
		b.ask.Context = strings.Join(beside, "\n\n")
		b.add(ask.Question{ID: "q1", Kind: ask.KindText, Text: strings.Join(texts, "\n\n")}, place{at: parts.at, fields: map[string]string{"text": ""}})
	default:
		parts.fault(ask.FaultEmptyList, "a_text_part_or_a_data_part_with_questions")
	}
	for _, f := range files {
		b.attach(f)
	}
	b.times(v)
	b.times(message)
}

// a2aParts returns the texts of a message, its first part with questions, answers
// or a reason to decline, its other data as people read it, and its files.
func a2aParts(parts value) (texts []string, data value, beside []string, files []foreignFile) {
	for _, part := range parts.list() {
		part.object()
		part.ignore("kind", "metadata", "mediaType")
		if text := part.field("text"); text.given() {
			if s := strings.TrimSpace(text.string()); s != "" {
				texts = append(texts, s)
			}
		}
		if f, ok := a2aFile(part); ok {
			files = append(files, f)
		}
		d := part.field("data")
		if o, _ := d.raw.(*object); o != nil && !data.given() && (o.values["questions"] != nil || o.values["answers"] != nil || o.values["decline"] != nil) {
			data = d
		} else if d.given() {
			beside = append(beside, fenced("json", shorten(indented(encode(d.raw)), maxShown)))
		}
		d.ignore()
		if _, several := d.raw.([]any); several {
			for _, item := range d.list() {
				item.ignore()
			}
		}
	}
	return texts, data, beside, files
}

// a2aFile reads the file of a part; version 0.3 has it in an object.
func a2aFile(part value) (f foreignFile, ok bool) {
	holder, raw, url := part, part.field("raw"), part.field("url")
	if held := part.field("file"); held.given() {
		held.object()
		held.ignore("mimeType", "mediaType")
		holder, raw, url = held, held.first("bytes", "fileWithBytes"), held.first("uri", "fileWithUri")
	}
	f = foreignFile{at: part, name: holder.first("filename", "name").string(), encoded: raw, url: url.string()}
	return f, raw.given() || url.given()
}

// A2AFile says how a part of a task carries a file: as bytes, or as an address from which
// the receiver of the task reads it. With neither, the file is only named.
type A2AFile func(f *ask.File) (data []byte, url string)

func (carry A2AFile) parts(files iter.Seq2[string, *ask.File]) (parts []any) {
	if carry == nil {
		return nil
	}
	for _, f := range files {
		part := ordered()
		switch data, url := carry(f); {
		case data != nil:
			part.set("raw", data)
		case url != "":
			part.set("url", url)
		default:
			continue
		}
		part.set("filename", f.Label())
		part.set("mediaType", f.MediaType)
		parts = append(parts, part)
	}
	return parts
}

// A2ATask returns the task of an ask, with the files of its answer if it has an
// outcome, else with its own.
func A2ATask(a *ask.Ask, o *ask.Outcome, progress string, carry A2AFile) []byte {
	if o != nil {
		return encode(a2aEnded(a, o, carry))
	}
	return encode(a2aWaiting(a, progress, carry))
}

// native reads the ask in native JSON at v.
func (b *builder) native(v value) {
	var a ask.Ask
	if err := json.Unmarshal(encode(v.raw), &a); err != nil {
		v.fault(ask.FaultNotAnAsk, wrongNative(err))
		return
	}
	questions := a.Questions
	a.ID = cmp.Or(a.ID, b.ask.ID)
	a.Session, a.Questions = b.ask.Session, nil
	b.ask = a
	b.base = v.at
	for i, q := range questions {
		b.add(q, place{at: v.at + "/questions/" + strconv.Itoa(i)})
	}
}

// wrongNative says what is wrong with native JSON, without Go's type names.
func wrongNative(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%q has a value of the wrong type (%s)", wrong.Field, wrong.Value)
	}
	return err.Error()
}

// a2aAnswer writes the ended task.
func a2aAnswer(a *ask.Ask, o *ask.Outcome) Response { return respond(200, a2aEnded(a, o, nil)) }

func a2aEnded(a *ask.Ask, o *ask.Outcome, carry A2AFile) *object {
	report := Report(a, answerInWords(a, o))
	task := a2aTask(a, A2AState(o), o.At, ordered("text", report))
	if rowOf(o).decided() {
		given := *o
		given.Ask = nil // the reader asked it
		data, err := json.Marshal(given)
		if err != nil {
			data = []byte("{}")
		}
		parts := []any{ordered("text", report, "mediaType", "text/plain"), ordered("data", json.RawMessage(data), "mediaType", "application/json")}
		task.set("artifacts", []any{ordered("artifactId", "answer", "name", "answer", "parts", append(parts, carry.parts(o.AllFiles())...))})
	}
	return task
}

// A2AState returns the state of the task of an ask with an outcome; nil: it has none yet.
func A2AState(o *ask.Outcome) string {
	if o == nil {
		return a2aInput
	}
	switch rowOf(o) {
	case rowAnswered, rowResponse, rowCancelled, rowDefault:
		return a2aCompleted
	case rowDeclined:
		return a2aRejected
	case rowWithdrawn, rowAborted:
		return a2aCanceled
	case rowExpired:
	}
	return a2aFailed
}

// a2aTask is the task for an ask; parts are those of its status message.
func a2aTask(a *ask.Ask, state string, at time.Time, parts ...any) *object {
	context := recall(a, a.Session, "session")
	status := ordered("state", state)
	if !at.IsZero() {
		status.set("timestamp", at.UTC().Format(time.RFC3339))
	}
	status.set("message", ordered("messageId", a2aID(a)+":"+strings.ToLower(strings.TrimPrefix(state, "TASK_STATE_")), "taskId", a2aID(a), "contextId", context, "role", "ROLE_AGENT", "parts", parts))
	return ordered("id", a2aID(a), "contextId", context, "status", status)
}

// a2aID returns an ask's id that is unique outside of its session.
func a2aID(a *ask.Ask) string {
	if a.Session == "" {
		return a.ID
	}
	return a.Session + "/" + a.ID
}

// a2aInputRequired returns a pending task: the question as text and as data.
func a2aInputRequired(a *ask.Ask, more ...any) *object {
	shown := *a
	if shown.Metadata = nil; !shown.Deadline.IsZero() {
		shown.Timeout = 0
	}
	data, err := json.Marshal(shown)
	if err != nil {
		data = []byte("{}")
	}
	parts := []any{ordered("text", askInWords(a).Plain(), "mediaType", "text/plain"), ordered("data", json.RawMessage(data), "mediaType", "application/json")}
	return a2aTask(a, a2aInput, time.Time{}, append(parts, more...)...)
}

func a2aPending(a *ask.Ask, p Pending) Response { return pending(a2aWaiting(a, p.Progress, nil), p) }

// a2aWaiting adds the files, and how far a task has come that several people decide.
func a2aWaiting(a *ask.Ask, progress string, carry A2AFile) *object {
	more := carry.parts(a.AllFiles())
	if progress != "" {
		more = append(more, ordered("text", progress, "mediaType", "text/plain"))
	}
	return a2aInputRequired(a, more...)
}

// a2aShow writes any ask as a task that waits for input.
func a2aShow(a *ask.Ask) ([]byte, []Warning) { return encode(a2aInputRequired(a)), nil }

// a2aReply reads a message to a task, or a task that ended elsewhere: a data
// part with answers as in native JSON, or text as people type it.
func a2aReply(a *ask.Ask, v value) Given {
	v.body()
	parts := v.field("parts")
	switch status := v.field("status"); {
	case v.field("message").given():
		parts = v.field("message").field("parts")
	case status.given():
		said, _, _, _ := a2aParts(status.field("message").field("parts"))
		switch state := status.field("state").string(); state {
		case a2aCompleted:
			for _, artifact := range v.field("artifacts").list() {
				parts = artifact.field("parts")
			}
		case a2aRejected:
			return Given{Decision: Declined, Reason: strings.Join(said, "\n\n")}
		default:
			return Given{Decision: Dismissed}
		}
	}
	texts, data, beside, files := a2aParts(parts)
	if len(beside) > 0 {
		parts.warn("has data without answers; it is dropped")
	}
	given := Given{Decision: Replied}
	switch {
	case data.field("decline").given():
		given = Given{Decision: Declined, Reason: data.field("decline").string()}
	case data.given():
		var reply ask.Reply
		if err := json.Unmarshal(encode(data.raw), &reply); err != nil {
			data.fault(ask.FaultNotAnAnswer, wrongNative(err))
		}
		v.r.native = data.at
		given.Reply.Answers, given.Reply.Response = reply.Answers, reply.Response
	case len(texts) > 0:
		given.Reply = parts.parseReply(a, strings.Join(texts, "\n"))
	default:
		parts.fault(ask.FaultEmptyList, "a_text_part_or_a_data_part_with_answers")
	}
	if given.Decision == Replied {
		given.attach(a, files)
	}
	return given
}

// A2AVersion03 converts a task of A2A 1.0 to version 0.3: with kinds, and other names of states and roles.
func A2AVersion03(task []byte) (json.RawMessage, error) {
	var v map[string]any
	if err := json.Unmarshal(task, &v); err != nil {
		return nil, err
	}
	old := func(prefix, s string) string {
		return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, prefix)), "_", "-")
	}
	parts := func(of map[string]any) {
		all, _ := of["parts"].([]any)
		for _, one := range all {
			part, _ := one.(map[string]any)
			mediaType := part["mediaType"]
			delete(part, "mediaType")
			switch {
			case part["text"] != nil:
				part["kind"] = "text"
			case part["raw"] != nil || part["url"] != nil:
				file := map[string]any{"name": part["filename"], "mimeType": mediaType, "bytes": part["raw"]}
				if part["raw"] == nil {
					file = map[string]any{"name": part["filename"], "mimeType": mediaType, "uri": part["url"]}
				}
				clear(part)
				part["kind"], part["file"] = "file", file
			default:
				part["kind"] = "data"
			}
		}
	}
	v["kind"] = "task"
	status, _ := v["status"].(map[string]any)
	state, _ := status["state"].(string)
	status["state"] = old("TASK_STATE_", state)
	if message, _ := status["message"].(map[string]any); message != nil {
		message["kind"], message["role"] = "message", "agent"
		parts(message)
	}
	artifacts, _ := v["artifacts"].([]any)
	for _, one := range artifacts {
		if artifact, _ := one.(map[string]any); artifact != nil {
			parts(artifact)
		}
	}
	return encode(v), nil
}
