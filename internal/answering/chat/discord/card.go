package discord

import (
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Types of components.
const (
	typeRow       = 1
	typeButtons   = 2
	typeSelect    = 3
	typeInput     = 4
	typeText      = 10
	typeContainer = 17
	typeLabel     = 18
	typeRadios    = 21
	typeChecks    = 22
)

// Styles of buttons.
const (
	stylePrimary   = 1
	styleSecondary = 2
	styleDanger    = 4
	styleLink      = 5
)

// component is a part of a message or a form, to send or as it was sent.
type component struct {
	Type        int         `json:"type"`
	ID          string      `json:"custom_id,omitempty"`
	Style       int         `json:"style,omitempty"`
	Label       string      `json:"label,omitempty"`
	Description string      `json:"description,omitempty"`
	Content     string      `json:"content,omitempty"`
	URL         string      `json:"url,omitempty"`
	Placeholder string      `json:"placeholder,omitempty"`
	Value       string      `json:"value,omitempty"`
	Values      []string    `json:"values,omitempty"`
	MaxLength   int         `json:"max_length,omitempty"`
	MinValues   *int        `json:"min_values,omitempty"`
	MaxValues   int         `json:"max_values,omitempty"`
	Required    *bool       `json:"required,omitempty"`
	Color       int         `json:"accent_color,omitempty"`
	Options     []option    `json:"options,omitempty"`
	Components  []component `json:"components,omitempty"`
	Component   *component  `json:"component,omitempty"`
}

type option struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
}

// Limits of a message, and what of it is for what.
const (
	maxText    = 3900 // of 4,000
	maxLabel   = 80
	maxURL     = 512
	maxContext = 1200
	maxPreview = 600 // of each option
	reserve    = 500 // for the end
	maxButtons = 10  // options that are buttons; more are a menu
	maxRow     = 5   // buttons
	rowWidth   = 70  // characters of a row's labels: phones show fewer
)

// page is the text of a message, in parts.
type page struct {
	parts []component
	n     int
	cut   bool // something did not fit
}

// add adds words as draw makes them. What does not fit is cut.
func (p *page) add(words string, most int, draw func(string) string) {
	short := chat.ClipUnits(words, most)
	for drawn := draw(short); strings.TrimSpace(short) != ""; drawn = draw(short) {
		if over := p.n + chat.Units(drawn) - (maxText - reserve); over > 0 {
			short = chat.ClipUnits(short, chat.Units(short)-max(over/2, 1)) // drawing makes it longer
			continue
		}
		p.put(drawn)
		break
	}
	p.cut = p.cut || short != words
}

// put adds a part that fits.
func (p *page) put(drawn string) {
	if strings.TrimSpace(drawn) != "" {
		p.parts, p.n = append(p.parts, component{Type: typeText, Content: drawn}), p.n+chat.Units(drawn)
	}
}

func (p *page) body(v *card.Preview, most int) {
	whole := strings.TrimSpace(v.Body)
	if v.Kind != card.Layout {
		p.add(card.Tables(whole), most, prose)
		return
	}
	language := ""
	if v.Diff() {
		language = "diff"
	}
	short := card.Middle(whole, most)
	p.add(short, most, fenced(language))
	p.cut = p.cut || short != whole
}

func bold(s string) string  { return "**" + escape(s) + "**" }
func small(s string) string { return "-# " + escape(s) }

// drawing is a pending ask to draw.
type drawing struct {
	*card.Card
	key      string // of its post
	link     string
	mentions []string
	cut      bool // something did not fit
}

// message returns the message of a pending ask.
func (d *drawing) message() message {
	var p page
	p.add(d.Head(), 300, small)
	p.add(d.Title, d.room(200), func(s string) string { return "### " + styled(chat.OneLine(s)) })
	if d.Context != nil {
		p.body(d.Context, d.room(maxContext))
	}
	p.add(strings.Join(chat.FileTexts(d.Files, literal), "\n"), 1000, func(s string) string { return s }) // they are literal
	for i := range d.Questions {
		d.question(&p, &d.Questions[i])
	}
	if votes := chat.Standing(d.Card, literal); len(votes) > 0 {
		p.add(strings.Join(votes, "\n"), 1200, func(s string) string { return s }) // they are literal
	}
	d.cut = p.cut
	controls, form := d.controls()
	d.foot(&p, form)
	box := component{Type: typeContainer, Components: append(p.parts, controls...)}
	switch d.Priority.Level {
	case ask.PriorityUrgent:
		box.Color = 0xED4245
	case ask.PriorityHigh:
		box.Color = 0xFEE75C
	case ask.PriorityNormal, ask.PriorityLow:
	}
	m := messageOf(d.mentions, box)
	if d.Priority.Level == ask.PriorityLow {
		m.Flags |= flagSilent
	}
	return m
}

// room returns how much of a part is shown: of a permission all, if the message has room for all of it.
func (d *drawing) room(most int) int {
	if d.Permits && d.Withheld == "" {
		return maxText
	}
	return most
}

// messageOf returns a message of components, which notifies only these.
func messageOf(notify []string, parts ...component) message {
	m := message{Flags: flagComponents, Mentions: mentions{Parse: []string{}}, Components: parts}
	var words []string
	for _, id := range notify {
		if role, ok := strings.CutPrefix(id, rolePrefix); ok {
			m.Mentions.Roles, words = append(m.Mentions.Roles, role), append(words, "<@&"+role+">")
		} else {
			m.Mentions.Users, words = append(m.Mentions.Users, id), append(words, "<@"+id+">")
		}
	}
	if len(words) > 0 {
		m.Components = append([]component{{Type: typeText, Content: strings.Join(words, " ")}}, parts...)
	}
	return m
}

func (d *drawing) question(p *page, q *card.Question) {
	head := q.Plain()
	if q.Step != "" {
		head = q.Step + " · " + head
	}
	if len(q.Marks) > 0 {
		head += " (" + strings.Join(q.Marks, ", ") + ")"
	}
	p.add(head, d.room(maxContext), bold)
	if q.Kind == ask.KindChoice {
		d.options(p, q)
	}
	p.add(q.Hint, 200, small)
}

// options lists what can be chosen. Options with previews are parts of their own.
func (d *drawing) options(p *page, q *card.Question) {
	var lines []string
	list := func() {
		p.add(strings.Join(lines, "\n"), 3000, func(s string) string { return s }) // they are escaped
		lines = nil
	}
	for i := range q.Options {
		lines = append(lines, chat.OptionText(i, &q.Options[i],
			func(s string) string { return bold(short(s, d.room(200))) }, escape, func(s string) string { return literal(s, 200) }))
		if v := q.Options[i].Preview; v != nil {
			list()
			p.body(v, d.room(maxPreview))
		}
	}
	list()
}

// foot ends a message; there is room for it.
func (d *drawing) foot(p *page, form bool) {
	more := ""
	if !form && d.Withheld == "" {
		more = d.Say("This is too much for a form of Discord: answer it in the web inbox, please.")
	}
	lines := chat.Foot(d.Card, p.cut, literal, 120, more)
	for i := range lines {
		lines[i] = "-# " + lines[i]
	}
	p.put(strings.Join(lines, "\n"))
}

// controls returns the rows of buttons, and whether the form fits.
func (d *drawing) controls() (rows []component, form bool) {
	form = planOf(d.Card).fits
	var row []component
	width := 0
	flush := func() {
		if len(row) > 0 {
			rows, row, width = append(rows, component{Type: typeRow, Components: row}), nil, 0
		}
	}
	add := func(do string, n, style int, label string) {
		b := component{Type: typeButtons, Style: style, Label: short(label, maxLabel), ID: controlID(d.key, do, n)}
		if len(row) == maxRow || len(row) > 0 && width+chat.Units(b.Label) > rowWidth {
			flush()
		}
		row, width = append(row, b), width+chat.Units(b.Label)
	}
	q := &d.Questions[0]
	single := len(d.Questions) == 1 && !q.Multiple && listed(q)
	switch {
	case single && len(q.Options) <= maxButtons:
		for i := range q.Options {
			if q.Options[i].Withheld {
				continue
			}
			style := styleSecondary
			switch o := &q.Options[i]; {
			case o.Destructive:
				style = styleDanger
			case o.Recommended:
				style = stylePrimary
			}
			add(doChoose, i, style, card.InlinePlain(q.Options[i].Label))
		}
	case single && d.Withheld == "":
		menu := component{Type: typeSelect, ID: controlID(d.key, doSelect, 0), Placeholder: d.Say("Choose…")}
		for i := range q.Options {
			menu.Options = append(menu.Options, optionOf(i, &q.Options[i]))
		}
		rows = append(rows, component{Type: typeRow, Components: []component{menu}})
	case form:
		add(doForm, 0, stylePrimary, d.Say("Answer…"))
	}
	flush()
	if more := d.Say("Add a note…"); single && form {
		if q.Other != nil {
			more = d.Say("Other…")
		}
		add(doForm, 0, styleSecondary, more)
	}
	if len(d.Questions) == 1 && q.Optional && d.Withheld == "" {
		add(doSkip, 0, styleSecondary, d.Say("Skip"))
	}
	add(doDecline, 0, styleSecondary, d.Say("Decline…"))
	if d.Approval != nil && d.Approval.TakeBack != "" {
		add(doTakeBack, 0, styleSecondary, d.Approval.TakeBack)
	}
	if d.link != "" && len(d.link) <= maxURL {
		if len(row) == maxRow {
			flush()
		}
		row = append(row, component{Type: typeButtons, Style: styleLink, Label: d.Say("Open in browser"), URL: d.link})
	}
	flush()
	return rows, form
}

// ended returns the message of an ended ask.
func ended(sum chat.Summary) message {
	var p page
	p.put("-# " + sum.Heading) // it is literal
	color := map[chat.Mark]int{chat.MarkAnswered: 0x57F287, chat.MarkDeclined: 0xED4245, chat.MarkExpired: 0x99AAB5, chat.MarkEnded: 0x99AAB5}[sum.Mark]
	line := sum.Mark.Sign() + "**" + sum.Verdict + "**"
	if !sum.At.At.IsZero() {
		line += " · <t:" + strconv.FormatInt(sum.At.At.Unix(), 10) + ":t>" // in the time zone of who reads it
	}
	if sum.Where != "" {
		line += " · " + sum.Where
	}
	p.put(line)
	p.add(strings.Join(sum.Details("**"), "\n"), maxText, func(s string) string { return s }) // they are literal
	return messageOf(nil, component{Type: typeContainer, Color: color, Components: p.parts})
}
