package ask

import (
	"strconv"
	"strings"
)

// Plain returns the question as text that any surface can show: its options
// numbered from 1, then a line that says what to type. Further lines of the
// question's own text are quoted with "> ", so that they cannot pass for
// options. [Question.ParseReply] reads the typed answer. Its fixed words are in
// the question's language: see [LanguageOf].
func (q *Question) Plain() string { return q.plain(LanguageOf(q.Text)) }

func (q *Question) plain(lang string) string {
	w := english
	if speaksChinese(lang) {
		w = chinese
	}
	said := plainWords()[w]
	var b strings.Builder
	if q.Header != "" {
		b.WriteString(CleanLine(q.Header) + said.colon)
	}
	b.WriteString(quoteFurther(CleanText(strings.TrimSpace(q.Text))) + "\n")
	for i := range q.Options {
		q.Options[i].plain(&b, i+1, said)
	}
	if q.Kind == KindBoolean {
		b.WriteString("  1. " + said.yes + "\n  2. " + said.no + "\n")
	}
	b.WriteString(q.HowToIn(lang))
	return b.String()
}

// quoteFurther quotes all lines of an agent's text but the first.
func quoteFurther(text string) string { return strings.ReplaceAll(text, "\n", "\n> ") }

func (o *Option) plain(b *strings.Builder, number int, said *plainText) {
	label, recommended := o.Caption()
	b.WriteString("  " + strconv.Itoa(number) + ". " + CleanLine(label))
	if recommended {
		b.WriteString(said.recommended)
	}
	if o.Description != "" {
		b.WriteString(" - " + CleanLine(o.Description))
	}
	if o.Cancels {
		b.WriteString(said.ends)
	}
	if o.Destructive {
		b.WriteString(said.destroys)
	}
	b.WriteByte('\n')
	if o.Preview == nil {
		return
	}
	for line := range strings.Lines(CleanText(strings.TrimRight(o.Preview.Body, "\n"))) {
		b.WriteString("     | " + strings.TrimRight(line, "\n") + "\n")
	}
}

// Plain returns the whole ask as text: title, context, and each question with
// the id to answer it by. Further lines of the context are quoted with "> ",
// like those of a question.
func (a *Ask) Plain() string {
	var parts []string
	if a.Title != "" {
		parts = append(parts, CleanLine(a.Title))
	}
	if a.Context != "" {
		parts = append(parts, quoteFurther(CleanText(strings.TrimSpace(a.Context))))
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		text := q.plain(a.Language())
		if len(a.Questions) > 1 {
			text = "[" + q.ID + "] " + text
		}
		if a.AtDeadline == AtDeadlineDefault && q.Default != nil {
			text += "\n" + plainWords()[a.Language()].inTime + CleanLine(q.Words(*q.Default))
		}
		parts = append(parts, text)
	}
	if len(a.Questions) > 1 {
		parts = append(parts, plainWords()[a.Language()].lines+a.Questions[0].ID+"=…")
	}
	return strings.Join(parts, "\n\n")
}

// Words formats an answer to this question for people: labels instead of ids,
// joined by ", ". It is empty for a skipped answer and leaves notes out.
func (q *Question) Words(ans Answer) string {
	switch {
	case ans.Number != nil:
		return formatNumber(*ans.Number)
	case ans.Boolean != nil && *ans.Boolean:
		return "Yes"
	case ans.Boolean != nil:
		return "No"
	case ans.Date != "":
		return ans.Date
	case ans.Text != "":
		return ans.Text
	}
	return strings.Join(q.Labels(ans), ", ")
}

// Labels returns the labels of the chosen options, followed by the Other text.
func (q *Question) Labels(ans Answer) []string {
	var labels []string
	for _, id := range ans.Selected {
		if o := q.Option(id); o != nil {
			labels = append(labels, o.Label)
		} else {
			labels = append(labels, id)
		}
	}
	if ans.Other != "" {
		labels = append(labels, ans.Other)
	}
	return labels
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
