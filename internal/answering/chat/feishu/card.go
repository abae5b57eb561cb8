package feishu

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Limits of a card. Feishu allows 30 KB for the body of the call, in which the card is a string, and 200 elements.
const (
	maxBytes    = 29_000
	maxElements = 180
	maxButtons  = 20 // of options; more are a list
	maxListed   = 100
	maxLabel    = 100 // bytes, of a button or an option of a list
	maxInput    = 1000
	maxTitle    = 200 // bytes of the header
)

// object is an element of a card, or a part of one.
type object = map[string]any

func plain(s string, most int) object {
	if s = clip(s, most); strings.TrimSpace(s) == "" {
		s = "–"
	}
	return object{"tag": "plain_text", "content": s}
}

func markdown(s string) object { return object{"tag": "markdown", "content": s} }

// small is a line of grey, literal text.
func small(s string) object {
	text := plain(s, 600)
	text["text_size"], text["text_color"] = "notation", "grey"
	return object{"tag": "div", "text": text}
}

// made returns a card as the content of a message.
func made(title, color string, elements []object) string {
	data, _ := encode(raw(title, color, elements)) // strings always marshal
	return string(data)
}

func raw(title, color string, elements []object) object {
	return object{
		"schema": "2.0",
		"config": object{"update_multi": true, "enable_forward": false, "summary": object{"content": clip(title, 200)}},
		"header": object{"title": plain(title, maxTitle), "template": color},
		"body":   object{"elements": elements},
	}
}

// drawing is a pending ask to draw.
type drawing struct {
	*card.Card
	rec      *ask.Record
	id       string // of the post; names of buttons have it
	link     string
	mentions []string
	open     bool // it can be answered here
	cut      bool // something did not fit
}

// room bounds the parts of a card, in bytes of the agent's text.
type room struct{ context, question, preview, option int }

// content returns the card with as much text as fits.
func (d *drawing) content() string {
	rooms := []room{{4000, 3000, 1500, 300}, {1500, 1500, 500, 160}, {400, 600, 0, 60}}
	if d.Permits && d.Withheld == "" { // all of it, if there is room
		rooms = append([]room{{maxBytes, maxBytes, maxBytes, maxBytes}}, rooms...)
	}
	for _, r := range rooms {
		elements := d.elements(r)
		content := made(card.Heading(&d.rec.Ask), d.color(), elements)
		if fits(content) && count(elements) <= maxElements {
			return content
		}
	}
	short := []object{small(d.Head()), markdown(inline(clip(chat.OneLine(d.Questions[0].Text), 300)))}
	if d.open {
		short = append(short, d.decline())
	}
	d.cut = true
	return made(card.Heading(&d.rec.Ask), d.color(), append(short, d.foot()...))
}

// fits reports whether a call with a card is within Feishu's limit.
func fits(content string) bool {
	data, err := encode(content)
	return err == nil && len(data) <= maxBytes
}

// count counts elements as Feishu does: each object with a tag.
func count(v any) (n int) {
	switch v := v.(type) {
	case object:
		if v["tag"] != nil {
			n++
		}
		for _, one := range v {
			n += count(one)
		}
	case []object:
		for _, one := range v {
			n += count(one)
		}
	}
	return n
}

func (d *drawing) color() string {
	if d.Priority.Urgent() {
		return "red"
	}
	return "blue"
}

func (d *drawing) elements(r room) []object {
	all, cut := []object{small(d.Head())}, false
	if at := mention("id=%s", d.mentions); at != "" {
		all = append(all, markdown(at))
	}
	add := func(p *card.Preview, most int) {
		if p != nil && most > 0 {
			text, less := body(p, most)
			all, cut = append(all, markdown(text)), cut || less
		} else if p != nil {
			cut = true
		}
	}
	if len(d.Title) > maxTitle {
		all = append(all, markdown("**"+escape(d.Title)+"**"))
	}
	add(d.Context, r.context)
	for _, file := range chat.FileTexts(d.Files, literal) {
		all = append(all, small(file))
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		whole := strings.TrimSpace(q.Plain())
		text := clip(whole, r.question/len(d.Questions)+100)
		cut = cut || text != whole
		lines := strings.Split(text, "\n")
		for i := range lines {
			if lines[i] = strings.TrimSpace(lines[i]); lines[i] != "" {
				lines[i] = "**" + escape(lines[i]) + "**"
			}
		}
		head := strings.Join(lines, "\n")
		if q.Step != "" {
			head = escape(q.Step+" · ") + head
		}
		for _, mark := range q.Marks {
			head += escape(" (" + mark + ")")
		}
		all = append(all, markdown(head))
		if q.Unknown {
			all = append(all, small(q.HowTo))
		}
		if q.Kind == ask.KindChoice && (!d.open || d.Withheld != "" || len(q.Options) > maxListed || chat.Tells(q, func(label string) bool { return len(label) > maxLabel })) {
			for i := range q.Options {
				o := &q.Options[i]
				cut = cut || len(o.Label) > r.option || len(o.Description) > r.option
				literally := func(s string) string { return escape(clip(s, r.option)) }
				bold := func(s string) string { return "**" + literally(s) + "**" }
				all = append(all, markdown(chat.OptionText(i, o, bold, literally, literally)))
				add(o.Preview, r.preview)
			}
		}
		if q.Hint != "" {
			all = append(all, small(q.Hint))
		}
		if form := d.oneForm(); d.open && form && len(d.Questions) > 1 {
			all = append(all, d.fields(q)...)
		}
	}
	if votes := chat.Standing(d.Card, literal); len(votes) > 0 {
		for i := range votes {
			votes[i] = escape(votes[i])
		}
		all = append(all, markdown(strings.Join(votes, "\n")))
	}
	if d.open {
		all = d.controls(all)
	}
	d.cut = cut
	return append(all, d.foot()...)
}

// oneForm reports whether the ask is answered with a form: always, but for a choice between few options that needs no
// words.
func (d *drawing) oneForm() bool {
	if d.Withheld != "" || slices.ContainsFunc(d.Questions, func(q card.Question) bool { return q.Unknown || len(q.Options) > maxListed }) {
		return false
	}
	return !d.buttons()
}

// buttons reports whether each option of the only question is a button.
func (d *drawing) buttons() bool {
	if len(d.Questions) != 1 || d.Questions[0].Multiple || len(d.Questions[0].Options) == 0 || len(d.Questions[0].Options) > maxButtons {
		return false
	}
	if d.rec.Ask.Approval == nil {
		return true
	}
	_, reason := d.rec.Ask.Approval.NeedsReason(nil)
	return !reason
}

// controls appends what answers the ask. Of several questions, the fields follow their question in one form, which then
// has all elements: a form is only at the root of a card.
func (d *drawing) controls(all []object) []object {
	q := &d.Questions[0]
	switch {
	case d.buttons():
		for i := range q.Options {
			if !q.Options[i].Withheld {
				all = append(all, d.pick(q, i))
			}
		}
		if q.Other != nil {
			all = append(all, d.form([]object{d.input(chat.FieldOther, 0, q.Other.Label, "", false), d.send(d.Say("Send this as the answer"))}))
		}
		if q.Optional && d.Withheld == "" {
			all = append(all, d.press(doSkip, 0, d.Say("Skip"), "default"))
		}
	case d.oneForm():
		if len(d.Questions) == 1 {
			all = append(all, d.fields(q)...)
		}
		if chat.Destroys(d.Card) {
			all = append(all, object{"tag": "checker", "name": chat.FieldSure, "checked": false, "text": plain(d.Say("Yes, I choose a destructive option"), maxLabel)})
		}
		label := d.Say("Send")
		if d.Approval != nil {
			label = d.Approval.Send
		}
		all = []object{d.form(append(all, d.send(label)))}
	}
	all = append(all, d.decline())
	if d.Approval != nil && d.Approval.TakeBack != "" {
		all = append(all, d.press(doTakeBack, 0, d.Approval.TakeBack, "default"))
	}
	return all
}

// foot ends a card.
func (d *drawing) foot() (all []object) {
	for _, words := range chat.Foot(d.Card, d.cut, literal, 600) {
		all = append(all, small(words))
	}
	if d.link != "" {
		all = append(all, object{"tag": "button", "text": plain(d.Say("Open in browser"), maxLabel), "type": "text", "behaviors": []object{{"type": "open_url", "default_url": d.link}}})
	}
	return all
}

// What a button does. Its name says that, a number, and the id of the post.
const (
	doPick     = "pick" // answers with the option of the number
	doSend     = "send" // answers with the form
	doSkip     = "skip"
	doDecline  = "decline"
	doTakeBack = "back"
)

func (d *drawing) named(do string, n int) string { return do + "_" + strconv.Itoa(n) + "_" + d.id }

// press returns a button outside of a form.
func (d *drawing) press(do string, n int, label, typ string) object {
	return object{"tag": "button", "text": plain(label, maxLabel), "type": typ, "width": "fill", "behaviors": []object{{"type": "callback", "value": object{"name": d.named(do, n)}}}}
}

func (d *drawing) decline() object { return d.press(doDecline, 0, d.Say("Decline"), "text") }

// pick returns the button of an option. A destructive one asks again.
func (d *drawing) pick(q *card.Question, i int) object {
	o := &q.Options[i]
	label, typ := card.InlinePlain(o.Label), "default"
	switch {
	case o.Destructive:
		typ = "danger"
	case o.Recommended:
		label, typ = "⭐ "+label, "primary"
	}
	b := d.press(doPick, i, label, typ)
	if o.Destructive {
		b["confirm"] = object{"title": plain(d.Say("Are you sure?"), maxLabel), "text": plain(label, maxLabel)}
	}
	return b
}

// send returns the button that sends a form. Feishu tells its name with the fields.
func (d *drawing) send(label string) object {
	return object{"tag": "button", "name": d.named(doSend, 0), "text": plain(label, maxLabel), "type": "primary", "width": "fill", "form_action_type": "submit"}
}

func (d *drawing) form(elements []object) object {
	return object{"tag": "form", "name": "form_" + d.id, "elements": elements}
}

// maxChecks is the number of options up to which those of a multiple choice are checkers.
const maxChecks = 8

// fields returns the fields of a question.
func (d *drawing) fields(q *card.Question) (all []object) {
	n := q.Number - 1
	name := chat.Field(chat.FieldAnswer, n)
	switch {
	case q.Kind == ask.KindDate:
		all = append(all, object{"tag": "date_picker", "name": name, "placeholder": plain(d.Say("Choose…"), maxLabel)})
	case len(q.Options) == 0:
		return append(all, d.input(chat.FieldAnswer, n, d.Say("Answer…"), q.Placeholder, q.Long))
	case q.Multiple && len(q.Options) <= maxChecks:
		for i := range q.Options {
			all = append(all, object{"tag": "checker", "name": name + "_" + strconv.Itoa(i), "checked": false, "text": plain(card.InlinePlain(q.Options[i].Label), maxLabel)})
		}
	default:
		list := make([]object, len(q.Options))
		for i := range q.Options {
			list[i] = object{"text": plain(card.InlinePlain(q.Options[i].Label), maxLabel), "value": strconv.Itoa(i)}
		}
		tag := "select_static"
		if q.Multiple {
			tag = "multi_select_static"
		}
		all = append(all, object{"tag": tag, "name": name, "placeholder": plain(d.Say("Choose…"), maxLabel), "options": list})
	}
	if q.Other != nil {
		all = append(all, d.input(chat.FieldOther, n, q.Other.Label, "", false))
	}
	if len(d.Questions) == 1 || q.Kind == ask.KindChoice {
		label := d.Say("Note")
		if d.Approval != nil {
			label = d.Approval.Note
		}
		all = append(all, d.input(chat.FieldNote, n, label, "", false))
	}
	return all
}

// input returns a field for words.
func (d *drawing) input(field string, n int, label, hint string, long bool) object {
	hint = cmp.Or(hint, label)
	in := object{"tag": "input", "name": chat.Field(field, n), "placeholder": plain(hint, maxLabel), "max_length": maxInput, "width": "fill"}
	if long {
		in["input_type"], in["rows"] = "multiline_text", 3
	}
	return in
}

// outcome returns the card of an ended ask.
func outcome(sum chat.Summary) (title, color string, elements []object) {
	color = "grey"
	if sum.Mark == chat.MarkAnswered {
		color = "green"
	}
	verdict := []string{sum.Mark.Sign() + "**" + escape(sum.Verdict) + "**"}
	for _, part := range sum.Beside() {
		verdict = append(verdict, escape(part))
	}
	lines := []string{strings.Join(verdict, " · ")}
	for _, l := range sum.Lines {
		line := escape(l.Question) + " **" + escape(l.Answer) + "**"
		if l.Note != "" {
			line += escape(" – " + l.Note)
		}
		lines = append(lines, line)
	}
	for _, s := range append([]string{sum.Reply}, sum.Votes...) {
		if s != "" {
			lines = append(lines, escape(s))
		}
	}
	return sum.Heading, color, []object{markdown(strings.Join(lines, "\n"))}
}
