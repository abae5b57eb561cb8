package dialect

import (
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The frames of D4's WebSocket.
const (
	D4Request  = "interaction_request"
	D4Response = "interaction_response"
	D4Closed   = "interaction_closed"
)

// D4Ask reads the body of POST /api/interact/ask.
func D4Ask(body []byte) (ask.Ask, []Warning, error) {
	b := newBuilder("d4")
	v, err := b.parse(body)
	if err != nil {
		return ask.Ask{}, nil, err
	}
	v.body()
	session := v.field("sessionId")
	b.session(session.need())
	if s, ok := session.raw.(string); ok && s == "" {
		session.fault("is empty; give the id of the session")
	}
	b.single(v)
	return b.finish()
}

// single reads one question that stands in the body itself.
func (b *builder) single(v value) {
	q := ask.Question{Text: v.field("question").need(), Multiple: v.field("multiselect").bool(false)}
	for _, item := range v.field("options").list() {
		q.Options = append(q.Options, option(item))
	}
	if len(q.Options) == 0 {
		q.Multiple = false // nothing to choose several from
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": "question", "multiple": "multiselect"}})
}

// D4Answer writes the result, or a problem that says why there is none.
func D4Answer(a *ask.Ask, o *ask.Outcome) Response {
	switch rowOf(o) {
	case rowDeclined:
		return problem(a, 409, "Declined", string(o.Status), sentence(a, o))
	case rowWithdrawn, rowAborted:
		return problem(a, 410, "Gone", string(o.Status), sentence(a, o))
	case rowExpired:
		return problem(a, 504, "Nobody answered", string(o.Status), sentence(a, o))
	case rowAnswered, rowResponse, rowCancelled, rowDefault:
	}
	r := respond(200, d4Result(a, o))
	if rowOf(o) == rowDefault {
		r.Header["Askbus-Source"] = string(ask.SourceDefault)
	}
	return r
}

// d4Result is the one answer. Several questions, which D4 cannot ask, come
// back as text.
func d4Result(a *ask.Ask, o *ask.Outcome) *object {
	q := &a.Questions[0]
	labels := []string{}
	switch ans := answerTo(o, q); {
	case rowOf(o) == rowResponse:
		labels = []string{o.Response}
	case len(a.Questions) > 1:
		labels = []string{report(a, o)}
	case ans != nil && q.Kind == ask.KindChoice:
		labels = q.Labels(*ans)
	case ans != nil:
		labels = []string{q.Words(*ans)}
	}
	var result any = strings.Join(labels, ", ")
	if q.Multiple && len(a.Questions) == 1 {
		result = labels
	}
	body := ordered("result", result)
	if len(labels) == 0 {
		body.set("skipped", true)
	}
	if text := remarks(a, o, ""); text != "" && len(a.Questions) == 1 {
		body.set("text", text)
	}
	return body
}

// problem is an RFC 9457 body.
func problem(a *ask.Ask, status int, title, code, detail string) Response {
	r := respond(status, ordered("type", "about:blank", "title", title, "status", status, "code", code, "detail", detail, "ask_id", a.ID))
	r.Header["Content-Type"] = "application/problem+json"
	return r
}

// D4Pending says, as 504 with a Location, that the ask is still open.
func D4Pending(a *ask.Ask, p Pending) Response {
	r := problem(a, 504, "Still pending", string(ask.StatePending), p.hint(a))
	if p.Location != "" {
		r.Header["Location"] = p.Location
	}
	return r
}

// D4Frames writes the data of one interaction_request for each question. Its
// id is the ask's; with several questions the number of the question follows
// after a dot.
func D4Frames(a *ask.Ask) ([][]byte, []Warning) {
	var s screen
	frames := make([][]byte, 0, len(a.Questions))
	for i := range a.Questions {
		q := &a.Questions[i]
		frame := ordered("id", d4ID(a, i), "sessionId", recall(a, a.Session, "session"), "question", s.text(a, i, false))
		if options := s.familyOptions(q, "", false); len(options) > 0 {
			frame.set("options", options)
			frame.set("multiselect", q.Multiple)
		}
		frames = append(frames, encode(frame))
	}
	return frames, s.warnings
}

func d4ID(a *ask.Ask, i int) string {
	if len(a.Questions) == 1 {
		return a.ID
	}
	return a.ID + "." + strconv.Itoa(i+1)
}

// D4ID takes the id of a frame apart: the ask, and the index of the question.
func D4ID(id string) (askID string, question int) {
	askID, number, _ := strings.Cut(id, ".")
	n, _ := strconv.Atoi(number)
	return askID, max(n-1, 0)
}

// D4Show writes the frames of an ask as one: an object for one question, an
// array of objects for several.
func D4Show(a *ask.Ask) ([]byte, []Warning) {
	frames, warnings := D4Frames(a)
	if len(frames) == 1 {
		return frames[0], warnings
	}
	all := make([]string, len(frames))
	for i, frame := range frames {
		all[i] = string(frame)
	}
	return []byte("[" + strings.Join(all, ",") + "]"), warnings
}

// D4Close writes the data of an interaction_closed for an ask that ended
// elsewhere.
func D4Close(a *ask.Ask, o *ask.Outcome) [][]byte {
	frames := make([][]byte, 0, len(a.Questions))
	for i := range a.Questions {
		frame := ordered("id", d4ID(a, i), "status", string(o.Status))
		if o.By != nil {
			frame.set("by", who(o))
		}
		frames = append(frames, encode(frame))
	}
	return frames
}

// D4Reply reads the data of an interaction_response, or an array of them, one
// for each question. Questions without one stay unanswered: with several, a
// door collects the responses until it has all.
func D4Reply(a *ask.Ask, body []byte) (Given, error) {
	r := &reader{what: "d4 response"}
	v, err := r.parse(body)
	if err != nil {
		return Given{}, err
	}
	responses := []value{v}
	if _, ok := v.raw.([]any); ok {
		responses = v.list()
	}
	given := Given{Decision: Replied}
	for _, v := range responses {
		v.body()
		id := v.field("id").string()
		askID, i := D4ID(id)
		switch {
		case id != "" && (askID != a.ID || i >= len(a.Questions)):
			v.field("id").fault("is %q, which is no question of this ask", clip(id))
		case !v.field("result").given():
			v.field("result").fault("is missing; give a string or an array of strings")
		default:
			given.Reply.Answers = append(given.Reply.Answers, v.field("result").answer(&a.Questions[i], ""))
		}
	}
	return given, r.err()
}
