package dialect

import (
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// interactAsk reads the body of POST /api/interact/ask.
func interactAsk(b *builder, v value) {
	v.body()
	session := v.field("sessionId")
	b.session(session.need())
	if s, ok := session.raw.(string); ok && s == "" {
		session.fault(ask.FaultEmptyList, "the_id_of_the_session")
	}
	b.named(v.field("id"))
	b.times(v)
	b.single(v)
}

// single reads a body that is itself one question.
func (b *builder) single(v value) {
	q := ask.Question{Text: v.field("question").need(), Multiple: v.multiple()}
	q.Options = b.options(v.field("options"))
	if len(q.Options) == 0 {
		v.single(&q)
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": "question", "multiple": "multiselect"}})
}

// interactAnswer writes the result, or a problem that says why there is none.
func interactAnswer(a *ask.Ask, o *ask.Outcome) Response {
	switch rowOf(o) {
	case rowDeclined:
		return problem(a, 409, "Declined", string(o.Status), sentence(a, o))
	case rowWithdrawn, rowAborted:
		return problem(a, 410, "Gone", string(o.Status), sentence(a, o))
	case rowExpired:
		return problem(a, 504, "Nobody answered", string(o.Status), sentence(a, o))
	case rowAnswered, rowResponse, rowCancelled, rowDefault:
	}
	r := respond(200, interactResult(a, o))
	if rowOf(o) == rowDefault {
		r.Header["Askbus-Source"] = string(ask.SourceDefault)
	}
	return r
}

// interactResult returns the one answer. Several questions, which this shape
// cannot ask, are answered as text.
func interactResult(a *ask.Ask, o *ask.Outcome) *object {
	q := &a.Questions[0]
	labels := []string{}
	switch ans := answerTo(o, q); {
	case rowOf(o) == rowResponse:
		labels = []string{o.Response}
	case len(a.Questions) > 1:
		labels = []string{Report(a, o)}
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

// problem returns an RFC 9457 body.
func problem(a *ask.Ask, status int, title, code, detail string) Response {
	r := respond(status, ordered("type", "about:blank", "title", title, "status", status, "code", code, "detail", detail, "ask_id", a.ID))
	r.Header["Content-Type"] = "application/problem+json"
	return r
}

// interactPending writes, as 504 with a Location, that the ask is still open.
func interactPending(a *ask.Ask, p Pending) Response {
	r := problem(a, 504, "Still pending", string(ask.StatePending), p.hint(a))
	if p.Location != "" {
		r.Header["Location"] = p.Location
	}
	return r
}

// interactFrames writes the data of one interaction_request for each question.
func interactFrames(a *ask.Ask) ([][]byte, []Warning) {
	var s screen
	frames := make([][]byte, 0, len(a.Questions))
	for i := range a.Questions {
		q := &a.Questions[i]
		frame := ordered("id", FrameID(a, i), "sessionId", recall(a, a.Session, "session"), "question", s.text(a, i, false))
		if options := s.familyOptions(a, i, "", false); len(options) > 0 {
			frame.set("options", options)
			frame.set("multiselect", q.Multiple)
		}
		frames = append(frames, encode(frame))
	}
	return frames, s.warnings
}

// FrameID returns the id of the interact frame of question i: the ask's id, followed by a dot
// and the question's number if there are several.
func FrameID(a *ask.Ask, i int) string {
	if len(a.Questions) == 1 {
		return a.ID
	}
	return a.ID + "." + strconv.Itoa(i+1)
}

// SplitFrameID splits the id of a frame into the ask's id and the index of the
// question.
func SplitFrameID(id string) (askID string, question int) {
	askID, number, _ := strings.Cut(id, ".")
	n, _ := strconv.Atoi(number)
	return askID, max(n-1, 0)
}

// interactShow writes the frames of an ask: an object for one question, an
// array of objects for several.
func interactShow(a *ask.Ask) ([]byte, []Warning) {
	frames, warnings := interactFrames(a)
	if len(frames) == 1 {
		return frames[0], warnings
	}
	all := make([]string, len(frames))
	for i, frame := range frames {
		all[i] = string(frame)
	}
	return []byte("[" + strings.Join(all, ",") + "]"), warnings
}

// interactReply reads the data of an interaction_response, or an array of them,
// one for each question. Questions without one stay unanswered: with several
// questions, the caller collects the responses until it has all.
func interactReply(a *ask.Ask, v value) Given {
	given := Given{Decision: Replied}
	for _, v := range v.oneOrMore() {
		v.body()
		id := v.field("id").string()
		if status := v.field("status").string(); status != "" && !v.field("result").given() {
			return unanswered(status, v.field("reason").string())
		}
		askID, i := SplitFrameID(id)
		switch {
		case id != "" && (askID != a.ID || i >= len(a.Questions)):
			v.field("id").fault(ask.FaultNotAmong, clip(id), "the_questions")
		case !v.field("result").given():
			v.field("result").fault(ask.FaultMissing, "a_string_or_an_array_of_strings")
		default:
			given.Reply.Answers = append(given.Reply.Answers, v.field("result").answer(&a.Questions[i], ""))
		}
	}
	return given
}
