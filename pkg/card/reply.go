package card

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Again is a question to ask again, and why. A nil question means the whole reply.
type Again struct {
	Question *Question
	Why      string
	Unclear  bool // the reply names none of several questions
}

// Draft is a person's unfinished reply. Valid answers stay; only invalid or missing ones are asked
// again. It is not safe for concurrent use.
type Draft struct {
	card     *Card
	answers  map[string]ask.Answer
	response string
}

// Draft starts a reply to this card.
func (c *Card) Draft() *Draft { return &Draft{card: c, answers: make(map[string]ask.Answer)} }

// Read parses typed text by the rules of [ask.Ask.ParseReply]: numbers, ids, parts of labels,
// several answers, free text. While only one question is open, the whole text may be its answer; text
// that answers none of several questions ends nothing. It returns what to ask again; if that is empty,
// [Draft.Reply] is complete.
func (d *Draft) Read(typed string) []Again {
	a := d.card.ask
	open := d.missing()
	if len(a.Questions) > 1 && len(open) == 1 && len(d.answers) > 0 && !d.names(typed) {
		ans, err := open[0].ParseReply(typed)
		if e, ok := errors.AsType[*ask.ReplyError](err); ok {
			return []Again{d.card.again(e.QuestionID, e.In(d.card.Lang))}
		}
		d.Set(ans)
		return d.Open()
	}
	reply, wrong := a.ReadReply(typed)
	if len(a.Questions) > 1 && reply.Response != "" {
		return []Again{{Why: d.card.words.Say("Which question does this answer? Begin with its id, such as “%s=…”.", d.card.Questions[0].Name()), Unclear: true}}
	}
	for _, ans := range reply.Answers {
		d.Set(ans)
	}
	var again []Again
	for _, e := range wrong {
		delete(d.answers, e.QuestionID)
		again = append(again, d.card.again(e.QuestionID, e.In(d.card.Lang)))
	}
	for _, missing := range d.Open() {
		if !slices.ContainsFunc(again, func(one Again) bool { return one.Question == missing.Question }) {
			again = append(again, missing)
		}
	}
	return again
}

// names reports whether a text names the question that it answers.
func (d *Draft) names(typed string) bool {
	id, _, ok := strings.Cut(typed, "=")
	return ok && d.card.ask.Question(strings.TrimSpace(id)) != nil
}

// Set stores an answer that the surface has parsed.
func (d *Draft) Set(ans ask.Answer) { d.answers[ans.QuestionID] = ans }

// Note adds a note to an answer.
func (d *Draft) Note(questionID, note string) {
	ans := d.answers[questionID]
	ans.QuestionID, ans.Notes = questionID, note
	d.answers[questionID] = ans
}

// Respond sets the free-text reply to the whole ask.
func (d *Draft) Respond(words string) { d.response = words }

// missing returns the required questions without an answer.
func (d *Draft) missing() []*ask.Question {
	if strings.TrimSpace(d.response) != "" {
		return nil
	}
	var missing []*ask.Question
	for i := range d.card.ask.Questions {
		q := &d.card.ask.Questions[i]
		if ans := d.answers[q.ID]; ans.Empty() && !q.Optional {
			missing = append(missing, q)
		}
	}
	return missing
}

// Open returns the missing questions as [Again]. An answer with an option that ends the whole ask
// leaves none open.
func (d *Draft) Open() []Again {
	if _, by, err := d.card.ask.Check(d.Reply()); err == nil && by != nil {
		return nil
	}
	var open []Again
	for _, q := range d.missing() {
		open = append(open, d.card.again(q.ID, d.card.words.Say("This one needs an answer.")))
	}
	return open
}

// Reply returns the answers so far, in the order of the questions.
func (d *Draft) Reply() ask.Reply {
	r := ask.Reply{Response: d.response}
	for i := range d.card.ask.Questions {
		if ans, ok := d.answers[d.card.ask.Questions[i].ID]; ok {
			r.Answers = append(r.Answers, ans)
		}
	}
	return r
}

// Review returns what would be sent, question by question.
func (d *Draft) Review() []Line {
	lines := make([]Line, 0, len(d.card.Questions))
	for i := range d.card.ask.Questions {
		q := &d.card.ask.Questions[i]
		ans := d.answers[q.ID]
		l := Line{Question: short(q, d.card.words), Answer: said(q, &ans, d.card.words), Note: text(ans.Notes)}
		l.Answer = cmp.Or(l.Answer, d.card.words.Say("no answer"))
		lines = append(lines, l)
	}
	return lines
}

// Faults returns the questions to ask again after a refused reply, each once, with a reason that
// needs no context.
func (c *Card) Faults(faults []ask.Fault) []Again {
	var again []Again
	for _, f := range faults {
		q := c.ask.Question(f.QuestionID)
		if q == nil {
			f.Message = f.In(c.Lang)
			again = append(again, Again{Why: line(f.String())})
			continue
		}
		why := f.Sentence(c.Lang)
		if f.Code == ask.FaultNoAnswer {
			why = c.words.Say("This one needs an answer.")
		}
		one := c.again(f.QuestionID, why)
		if !slices.ContainsFunc(again, func(other Again) bool { return other.Question == one.Question }) {
			again = append(again, one)
		}
	}
	return again
}

func (c *Card) again(questionID, why string) Again {
	why = line(why)
	for i := range c.Questions {
		if c.Questions[i].ID == questionID {
			return Again{Question: &c.Questions[i], Why: why}
		}
	}
	return Again{Why: why}
}

// NotSent says how many questions need another look.
func (c *Card) NotSent(again []Again) string {
	return c.words.Say("Not sent yet: %d questions need another look.", len(again))
}

// AskAgain formats what to ask again as text: each reason with its question.
func (c *Card) AskAgain(again []Again) string {
	var parts []string
	for _, one := range again {
		if one.Question == nil {
			parts = append(parts, one.Why)
		} else {
			parts = append(parts, one.Why+"\n"+one.Question.text(c, nil))
		}
	}
	return strings.Join(parts, "\n\n")
}
