package mattermost

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Limits of a post. Newer servers translate attachments to blocks, which have 16,000 characters together.
const (
	maxText    = 14_000
	maxLabel   = 60
	maxContext = 4_000
	maxPreview = 2_000
	maxDraft   = 1_500 // bytes: a value of a context has at most 2,048
)

// special are the characters that are markup.
var special = regexp.MustCompile("[\\\\`*_{}\\[\\]()#+\\-.!>~|&$]")

// inert breaks what needs no markup: mentions, and addresses that become links.
var inert = strings.NewReplacer("@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.", "mailto:", "mailto\u200b:") //nolint:gochecknoglobals // never changed

// literal makes other people's words text on every line.
func literal(s string) string {
	return special.ReplaceAllStringFunc(inert.Replace(s), func(c string) string { return `\` + c })
}

func clip(s string, most int) string { return ask.Clip(chat.OneLine(s), most) }

// clean makes words for [chat.Summarize].
func clean(s string, most int) string { return literal(clip(s, most)) }

// fenced puts a layout into a fence that it cannot end.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + s + "\n" + fence + "\n"
}

// drawing is a pending ask to draw.
type drawing struct {
	*card.Card
	link  string
	cut   bool
	spare int // bytes that are kept for answers so far
	b     strings.Builder
}

// add adds text up to what a post takes, without the reserve for its end.
func (d *drawing) add(s string) {
	if d.b.Len()+len(s) > maxText-800-d.spare {
		d.cut = true
		return
	}
	d.b.WriteString(s)
}

// text returns the question to answer next, with the answers so far.
func (d *drawing) text(s card.Steps) string {
	d.b.Reset()
	d.cut = false
	d.add("*" + literal(d.Head()) + "*\n")
	if d.Title != "" {
		d.add("**" + clean(d.Title, 300) + "**\n")
	}
	if d.Context != nil {
		d.body(d.Context, d.room(maxContext))
	}
	for _, line := range chat.FileTexts(d.Files, clean) {
		d.add(line + "\n")
	}
	for _, l := range s.Review(d.Card) {
		d.add("✓ " + clean(l.Question, 80) + " **" + clean(l.Answer, 200) + "**\n")
	}
	if q := s.Next(d.Card); q != nil {
		d.question(q)
	}
	for _, vote := range chat.Standing(d.Card, clean) {
		d.add(vote + "\n")
	}
	for _, words := range chat.Foot(d.Card, d.cut, clean, 120) {
		d.b.WriteString("*" + words + "*\n")
	}
	if d.link != "" {
		d.b.WriteString("[" + d.Say("Open in browser") + "](" + d.link + ")\n")
	}
	return d.b.String()
}

// room returns how much of a part is shown: of a permission all, if the post has room for all of it.
func (d *drawing) room(most int) int {
	if d.Permits && d.Withheld == "" {
		return maxText
	}
	return most
}

func (d *drawing) body(p *card.Preview, most int) {
	parts, cut := chat.Parts(p, most, ask.Clip)
	d.cut = d.cut || cut
	for _, part := range parts {
		if part.Code {
			d.add(fenced(part.Text))
		} else {
			d.add(literal(part.Text) + "\n")
		}
	}
}

func (d *drawing) question(q *card.Question) {
	if q.Step != "" {
		d.add(literal(q.Step) + " · ")
	}
	text := ask.Clip(q.Plain(), d.room(maxContext))
	d.cut = d.cut || text != q.Plain()
	d.add("**" + strings.ReplaceAll(literal(text), "\n", "**\n**"))
	d.add("**")
	if len(q.Marks) > 0 {
		d.add(" (" + strings.Join(q.Marks, ", ") + ")")
	}
	d.add("\n")
	if q.Kind == ask.KindChoice {
		for i := range q.Options {
			plain := func(s string) string { return clean(s, d.room(400)) }
			d.add(strings.Replace(chat.OptionText(i, &q.Options[i], plain, plain, plain), ". ", `\. `, 1) + "\n")
			if p := q.Options[i].Preview; p != nil {
				d.body(p, d.room(maxPreview))
			}
		}
	}
	if q.Hint != "" {
		d.add(clean(q.Hint, 300) + "\n")
	}
}

// buttons returns the buttons of the next question. Seal completes what each carries.
func (d *drawing) buttons(s card.Steps, address string, seal func(data string) held) (all []action) {
	for i, one := range s.Buttons(d.Card) {
		b := action{ID: "b" + strconv.Itoa(i), Type: "button", Name: clip(one.Label, maxLabel), Integration: integration{address, seal(one.Data)}}
		switch {
		case one.Recommended:
			b.Name, b.Style = "⭐ "+b.Name, "primary"
		case one.Do == card.DoConfirm && len(all) == 0:
			b.Style = "danger"
		}
		all = append(all, b)
	}
	return all
}

// outcome returns the text of an ended ask.
func outcome(sum chat.Summary) string {
	verdict := append([]string{sum.Mark.Sign() + "**" + sum.Verdict + "**"}, sum.Beside()...)
	all := []string{sum.Heading, strings.Join(verdict, " · ")}
	return strings.Join(append(all, sum.Details("**")...), "\n")
}
