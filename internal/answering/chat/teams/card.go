package teams

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Limits of a card. Teams takes messages of 100 KB, and advises 80 KB.
const (
	maxSheet   = 80_000 - 2_000 // bytes as UTF-16, without the activity around it
	maxButtons = 6              // of one row
	maxLabel   = 60
	maxWords   = 3_000 // a person's, in a field
	compact    = 8     // choices from which a field unfolds
)

// What actions do.
const (
	doChoose   = "choose"
	doSend     = "send"
	doDecline  = "decline"
	doTakeBack = "take-back"
	doRefresh  = "refresh"
)

// drawing is a pending ask to draw.
type drawing struct {
	*card.Card
	ref      string // of the ask and its life
	link     string
	closed   bool // without controls: nobody knows yet where it is
	mentions []mentioned
	room     int // characters for each body of the agent
	cut      bool
	body     []element
}

// sheet returns the card: whole, or with shorter bodies, or only its heading and a link.
func (d *drawing) sheet() *sheet {
	rooms := []int{8_000, 3_000, 1_000, 300}
	if d.Permits && d.Withheld == "" { // all of it, if there is room
		rooms = append([]int{40_000}, rooms...)
	}
	for _, room := range rooms {
		s := d.in(room)
		if s.units() > maxSheet {
			continue
		}
		if d.cut && d.Permits && d.Withheld == "" { // its mentions may be what is too much
			d.Withhold(d.link != "")
			return d.sheet()
		}
		return s
	}
	if d.Permits && d.Withheld == "" {
		d.Withhold(d.link != "")
	}
	return d.short()
}

// in returns the card with so much room for each body.
func (d *drawing) in(room int) *sheet {
	d.room, d.cut, d.body = room, false, nil
	s := d.begin()
	if d.Context != nil {
		d.preview(d.Context)
	}
	for _, file := range chat.InboxFiles(d.Card, d.link, clip) {
		d.add("Small", literal(file))
	}
	form := !d.closed && d.fillable() && !d.buttons() && d.Withheld == ""
	for i := range d.Questions {
		d.question(&d.Questions[i], form)
	}
	for _, vote := range chat.Standing(d.Card, clip) {
		d.add("Small", literal(vote))
	}
	switch {
	case d.closed:
	case form:
		d.end(s, d.rest()...)
	case d.fillable():
		if options := d.options(); len(options) > 0 {
			d.body = append(d.body, element{Type: "ActionSet", Actions: options})
		}
	}
	d.foot()
	if !d.closed {
		s.Actions = append(s.Actions, d.last(form)...)
	}
	s.Body = d.body
	return s
}

// short returns the card of an ask that is too large to draw.
func (d *drawing) short() *sheet {
	d.body = nil
	s := d.begin()
	d.cut = true
	for i := range d.Questions[:min(len(d.Questions), 3)] {
		d.add("Medium", bold(clip(d.Questions[i].Plain(), 500)))
	}
	d.foot()
	if !d.closed {
		s.Actions = d.last(true)
	}
	s.Body = d.body
	return s
}

func (d *drawing) add(spacing string, runs ...run) { d.body = append(d.body, line(spacing, runs...)) }

// refreshing makes a client ask for the card when it shows it.
func refreshing(ref string) *refresh {
	return &refresh{Action: action{Type: "Action.Execute", Verb: doRefresh, Data: &target{Ref: ref, Do: doRefresh}}, UserIDs: []string{}}
}

func clip(s string, most int) string { return ask.Clip(chat.OneLine(s), most) }

// begin returns a card with the heading of the ask, and adds its first lines.
func (d *drawing) begin() *sheet {
	s := newSheet()
	s.Fallback = inert.Replace(clip(d.Head()+" "+cmp.Or(d.Title, d.Questions[0].Plain()), 500))
	if !d.closed {
		s.Refresh = refreshing(d.ref)
	}
	head := subtle(d.Head())
	head.Size = "Small"
	if d.Priority.Urgent() {
		head.Color = "Attention"
	}
	d.add("", head)
	if names := s.mention(d.mentions); names != "" {
		d.body = append(d.body, element{Type: "TextBlock", Text: names, Wrap: true, Spacing: "Small"})
	}
	if d.Title != "" {
		d.add("Small", bold(clip(d.Title, 300)))
	}
	return s
}

// mention mentions people, and returns the text that does it.
func (s *sheet) mention(people []mentioned) string {
	var names []string
	for _, m := range people {
		m.Name = strings.NewReplacer("<", "", ">", "", "[", "(", "]", ")", "*", "", "_", " ").Replace(m.Name)
		text := "<at>" + m.Name + "</at>"
		names = append(names, text)
		s.Teams.Entities = append(s.Teams.Entities, mention{"mention", text, m})
	}
	return strings.Join(names, " ")
}

// preview adds a body of the agent.
func (d *drawing) preview(p *card.Preview) {
	parts, cut := chat.Parts(p, d.room, ask.Clip)
	d.cut = d.cut || cut
	for _, part := range parts {
		d.body = lines(d.body, part.Text, part.Code)
	}
}

// question adds a question, and its fields in a form.
func (d *drawing) question(q *card.Question, form bool) {
	var runs []run
	if q.Step != "" {
		runs = append(runs, subtle(q.Step+" · "))
	}
	text := q.Plain()
	first, more, _ := strings.Cut(ask.Clip(text, 2*d.room), "\n")
	d.cut = d.cut || len(text) > 2*d.room
	runs = append(runs, bold(first))
	if len(q.Marks) > 0 {
		runs = append(runs, subtle(" ("+strings.Join(q.Marks, ", ")+")"))
	}
	d.add("Medium", runs...)
	if more != "" {
		d.body = lines(d.body, more, false)
	}
	if d.Withheld != "" || chat.Tells(q, func(label string) bool { return utf8.RuneCountInString(label) > maxLabel }) {
		for i := range q.Options {
			d.option(i, &q.Options[i])
		}
	}
	if q.Hint != "" {
		d.add("Small", subtle(clip(q.Hint, 300)))
	}
	if form {
		d.fields(q)
	}
}

func (d *drawing) option(i int, o *card.Option) {
	label := bold(strconv.Itoa(i+1) + ". " + card.InlinePlain(o.Label))
	runs := []run{label}
	for _, mark := range o.Marks {
		one := literal(" · " + mark)
		if one.Color = "Good"; o.Destructive && !o.Recommended {
			one.Color = "Attention"
		}
		runs = append(runs, one)
	}
	if o.Description != "" {
		runs = append(runs, literal(" – "+clip(card.InlinePlain(o.Description), d.room)))
		d.cut = d.cut || len(o.Description) > d.room
	}
	if o.Note != "" {
		runs = append(runs, subtle(" ("+o.Note+")"))
	}
	if o.File != nil {
		runs = append(runs, literal(" "+chat.FileText(o.File, clip)))
	}
	d.add("Small", runs...)
	if o.Preview != nil {
		d.preview(o.Preview)
	}
}

// foot adds the last lines.
func (d *drawing) foot() {
	for _, words := range chat.Foot(d.Card, d.cut, clip, 300) {
		d.add("Small", subtle(words))
	}
	for _, l := range d.Defaults {
		d.add("None", subtle(clip(l.Question+" "+l.Answer, 300)))
	}
}

// fillable reports whether this version knows every question's kind.
func (d *drawing) fillable() bool {
	return !slices.ContainsFunc(d.Questions, func(q card.Question) bool { return q.Unknown })
}

// buttons reports whether one press can answer: a single choice of a few options, none of which needs more than that.
func (d *drawing) buttons() bool {
	q := &d.Questions[0]
	return len(d.Questions) == 1 && !q.Multiple && len(q.Options) > 0 && len(q.Options) <= maxButtons && !chat.Destroys(d.Card) && (d.Approval == nil || d.Approval.Reason == "")
}

// options returns the buttons of the options of the only question.
func (d *drawing) options() (all []action) {
	for i, o := range d.Questions[0].Options {
		if o.Withheld || !d.buttons() {
			continue
		}
		label, style := title(card.InlinePlain(o.Label), maxLabel), ""
		if o.Recommended {
			label, style = "⭐ "+label, "positive"
		}
		all = append(all, execute(label, style, target{Ref: d.ref, Do: doChoose, Option: &i}))
	}
	return all
}

// last returns the actions at the end of a card.
func (d *drawing) last(form bool) (all []action) {
	if !form && d.fillable() && d.Withheld == "" {
		if q := &d.Questions[0]; q.Other != nil {
			words := element{Type: "Input.Text", ID: chat.Field(chat.FieldOther, 0), Multiline: true, MaxLength: maxWords, Label: d.Say("Answer")}
			all = append(all, d.unfold(d.Say("Other…"), d.Say("Send"), doSend, words))
		} else if q.Optional {
			all = append(all, execute(d.Say("Skip"), "", target{Ref: d.ref, Do: doSend}))
		}
	}
	reason := element{Type: "Input.Text", ID: chat.FieldReason, Multiline: true, MaxLength: maxWords, Label: d.Say("Why? The agent is told.")}
	all = append(all, d.unfold(d.Say("Decline"), d.Say("Decline"), doDecline, reason))
	if d.Approval != nil && d.Approval.TakeBack != "" {
		all = append(all, execute(d.Approval.TakeBack, "", target{Ref: d.ref, Do: doTakeBack}))
	}
	if d.link != "" {
		all = append(all, open(d.Say("Open in browser"), d.link))
	}
	return all
}

// unfold returns an action that shows a field, and an action that sends it.
func (d *drawing) unfold(title, send, do string, field element) action {
	return action{Type: "Action.ShowCard", Title: title, Card: &sheet{Type: "AdaptiveCard", Body: []element{field}, Actions: []action{execute(send, "", target{Ref: d.ref, Do: do})}}}
}

// outcome returns the card of an ended ask.
func outcome(sum chat.Summary, ref string) *sheet {
	s := newSheet()
	s.Refresh = refreshing(ref) // a client that missed the edit
	verdict := []run{bold(sum.Mark.Sign() + sum.Verdict)}
	for _, part := range sum.Beside() {
		verdict = append(verdict, subtle(" · "+part))
	}
	s.Body = []element{line("", literal(sum.Heading)), line("Small", verdict...)}
	for _, l := range sum.Lines {
		runs := []run{literal(l.Question + " "), bold(l.Answer)}
		if l.Note != "" {
			runs = append(runs, subtle(" ("+l.Note+")"))
		}
		s.Body = append(s.Body, line("Small", runs...))
	}
	if sum.Reply != "" {
		s.Body = append(s.Body, line("Small", literal(sum.Reply)))
	}
	for _, vote := range sum.Votes {
		s.Body = append(s.Body, line("Small", literal(vote)))
	}
	s.Fallback = inert.Replace(sum.Heading + " " + sum.Verdict)
	return s
}

// said returns a card that says only these words.
func said(words string) *sheet {
	s := newSheet()
	s.Body, s.Fallback = []element{line("", literal(words))}, inert.Replace(words)
	return s
}
