package telegram

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/go-telegram/bot/models"
)

// Limits of a message. Telegram counts texts in UTF-16 units.
const (
	maxText    = 4096
	maxLabel   = 60 // of a button: phones cut longer ones
	maxButtons = 30 // of options; more are answered by number
	maxContext = 900
	maxPreview = 700 // of each option
)

// text is a text with entities. Other people's words are literal in it.
type text struct {
	b        strings.Builder
	n        int // UTF-16 units
	entities []models.MessageEntity
	cut      bool // something did not fit
}

func (t *text) String() string { return t.b.String() }

// reserve is what is kept for the end of a text.
const reserve = 400

// add appends words as an entity of a type; "" is none.
func (t *text) add(words, typ, url string) { t.upTo(maxText-reserve, words, typ, url) }

func (t *text) upTo(most int, words, typ, url string) {
	words = strings.ReplaceAll(words, "@", "@\u200b") // mentions nobody
	short := clip(words, most-t.n)
	t.cut = t.cut || short != words
	if short == "" {
		return
	}
	n := units(short)
	if typ != "" {
		t.entities = append(t.entities, models.MessageEntity{Type: models.MessageEntityType(typ), Offset: t.n, Length: n, URL: url})
	}
	t.b.WriteString(short)
	t.n += n
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// clip cuts text to a number of UTF-16 units.
func clip(s string, most int) string {
	if units(s) <= most {
		return s
	}
	var b strings.Builder
	n := 1 // the ellipsis
	for _, r := range s {
		if n += utf16.RuneLen(r); n > most {
			break
		}
		b.WriteRune(r)
	}
	if most < 2 {
		return ""
	}
	return b.String() + "…"
}

// keyboard is an inline keyboard. It is not the library's, whose buttons all have an empty copy_text.
type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	Style string `json:"style,omitempty"`
}

// Verbs of buttons.
const (
	verbChoose  = "c"
	verbToggle  = "t"
	verbSend    = "s"
	verbType    = "o" // asks for words
	verbSkip    = "k"
	verbDecline = "d"
)

// pressedData is what a button carries, in at most 64 bytes.
type pressedData struct {
	Verb   string
	ID     string // short id of one life of an ask
	Q      int    // number of the question
	Option int
	Chosen string // options of a multiple choice that are chosen already, as [chosen] encodes them
}

// maxData is the limit of a button's data, in bytes.
const maxData = 64

func (d pressedData) String() string {
	return strings.Join([]string{d.Verb, d.ID, strconv.Itoa(d.Q), strconv.Itoa(d.Option), d.Chosen}, ":")
}

// parseData parses the data of a button. It is what a client sends, and may be anything.
func parseData(s string) (d pressedData, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 5 || len(s) > maxData {
		return d, false
	}
	q, err := strconv.Atoi(parts[2])
	o, err2 := strconv.Atoi(parts[3])
	return pressedData{parts[0], parts[1], q, o, parts[4]}, err == nil && err2 == nil && q >= 0 && o >= 0 && len(parts[1]) == 24
}

// chosen is a set of options, by number.
func chosen(s string) *big.Int {
	set, ok := new(big.Int).SetString(s, 62)
	if !ok || set.Sign() < 0 {
		return new(big.Int)
	}
	return set
}

func encode(set *big.Int) string {
	if set.Sign() == 0 {
		return ""
	}
	return set.Text(62)
}

// drawing is a pending ask to draw.
type drawing struct {
	*card.Card
	id       string // short id
	link     string
	bot      string // user name
	mentions []string
}

// mark returns the address of the link at the beginning of a message: it says which question a reply
// to the message is for.
func (d *drawing) mark(q int) string {
	return "https://t.me/" + d.bot + "?start=" + d.id + "-" + strconv.Itoa(q)
}

// text returns the message at a question, with the answers so far.
func (d *drawing) text(at int, answers []card.Line) text {
	var t text
	t.add("❓", "text_link", d.mark(at))
	t.add(" "+d.Head()+"\n", "", "")
	for _, id := range d.mentions {
		n := t.n
		t.add("👤 ", "", "")
		user, _ := strconv.ParseInt(id, 10, 64)
		t.entities = append(t.entities, models.MessageEntity{Type: "text_mention", Offset: n, Length: 2, User: &models.User{ID: user, FirstName: id}})
	}
	if d.Title != "" {
		t.add(clip(d.Title, 200)+"\n", "bold", "")
	}
	if d.Context != nil {
		d.body(&t, d.Context, maxContext)
	}
	for _, l := range answers {
		t.add("✓ "+clip(oneLine(l.Question), 80)+" ", "", "")
		t.add(clip(oneLine(l.Answer), 80)+"\n", "bold", "")
	}
	if at < len(d.Questions) {
		d.question(&t, &d.Questions[at])
	} else {
		t.add(d.Text(), "", "")
	}
	d.foot(&t)
	return t
}

func (d *drawing) body(t *text, p *card.Preview, most int) {
	short := clip(strings.TrimSpace(p.Body), most)
	t.cut = t.cut || len(short) < len(strings.TrimSpace(p.Body))
	typ := ""
	if p.Kind == card.Layout {
		typ = "pre"
	}
	t.add(short, typ, "")
	t.add("\n", "", "")
}

func (d *drawing) question(t *text, q *card.Question) {
	if q.Step != "" {
		t.add(q.Step+" · ", "", "")
	}
	t.add(q.Plain(), "bold", "")
	if len(q.Marks) > 0 {
		t.add(" ("+strings.Join(q.Marks, ", ")+")", "", "")
	}
	t.add("\n", "", "")
	if q.Kind == ask.KindChoice {
		for i := range q.Options {
			o := &q.Options[i]
			var words strings.Builder
			words.WriteString(strconv.Itoa(i+1) + ". " + clip(o.Label, 200))
			for _, mark := range o.Marks {
				words.WriteString(" · " + mark)
			}
			if o.Description != "" {
				words.WriteString(" – " + clip(oneLine(o.Description), 200))
			}
			t.add(words.String()+"\n", "", "")
			if o.Preview != nil {
				d.body(t, o.Preview, maxPreview)
			}
		}
	}
	if q.Hint != "" {
		t.add(clip(q.Hint, 200)+"\n", "", "")
	}
}

// foot ends a message; there is room for it.
func (d *drawing) foot(t *text) {
	end := func(words, url string) {
		typ := ""
		if url != "" {
			typ = "text_link"
		}
		t.upTo(maxText, words, typ, url)
	}
	if t.cut {
		end("\n"+d.Say("Not everything fits here."), "")
	}
	if d.ForThem != "" {
		end("\n"+clip(d.ForThem, 120), "")
	}
	if d.AtEnd != "" {
		end("\n"+clip(d.AtEnd, 120), "")
	}
	if d.link != "" {
		end("\n", "")
		end(d.Say("Open in browser"), d.link)
	}
}

// keyboard returns the buttons of a question. In a multiple choice some options are chosen already.
func (d *drawing) keyboard(at int, marked string) *keyboard {
	k := &keyboard{}
	row := func(b ...button) { k.Rows = append(k.Rows, b) }
	data := func(verb string, option int, marked string) string {
		return pressedData{verb, d.id, at, option, marked}.String()
	}
	if at < len(d.Questions) {
		q := &d.Questions[at]
		if buttons(q) {
			set := chosen(marked)
			for i := range q.Options {
				o := &q.Options[i]
				label, verb, carried := o.Label, verbChoose, ""
				if q.Multiple {
					box := "☐ "
					if set.Bit(i) == 1 {
						box = "☑ "
					}
					label, verb, carried = box+label, verbToggle, encode(set)
				}
				b := button{Text: clip(label, maxLabel), Data: data(verb, i, carried)}
				if o.Recommended {
					b.Text = "⭐ " + b.Text
				}
				row(b)
			}
			if q.Multiple {
				row(button{Text: d.Say("Send"), Data: data(verbSend, 0, encode(set))})
			}
		}
		last := []button{}
		if !buttons(q) || q.Other != nil {
			words := d.Say("Answer…")
			if buttons(q) {
				words = d.Say("Other…")
			}
			last = append(last, button{Text: words, Data: data(verbType, 0, "")})
		}
		if q.Optional {
			last = append(last, button{Text: d.Say("Skip"), Data: data(verbSkip, 0, "")})
		}
		row(append(last, button{Text: d.Say("Decline"), Data: data(verbDecline, 0, "")})...)
	}
	return k
}

// buttons reports whether a question's options are buttons.
func buttons(q *card.Question) bool {
	return !q.Unknown && len(q.Options) > 0 && len(q.Options) <= maxButtons
}

// outcome returns the text of an ended ask.
func outcome(a *ask.Ask, o *ask.Outcome, e *card.End) text {
	var t text
	t.add(clip(card.Heading(a), 300)+"\n", "", "")
	mark, words := chat.Verdict(o, e, func(s string, most int) string { return clip(oneLine(s), most) })
	t.add(map[chat.Mark]string{chat.MarkAnswered: "✅ ", chat.MarkDeclined: "🚫 ", chat.MarkExpired: "⌛ ", chat.MarkEnded: "➖ "}[mark], "", "")
	t.add(words, "bold", "")
	for _, part := range []string{e.At.Words, e.Where} {
		if part != "" {
			t.add(" · "+part, "", "")
		}
	}
	if e.Detailed {
		for _, l := range e.Lines {
			t.add("\n"+clip(oneLine(l.Question), 100)+" ", "", "")
			t.add(clip(oneLine(l.Answer), 100), "bold", "")
		}
	}
	return t
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// options returns the ids of the chosen options of a question, for which a yes-or-no question has two.
func options(q *card.Question, set *big.Int) (ids []string) {
	for i := range q.Options {
		if set.Bit(i) == 1 && !slices.Contains(ids, q.Options[i].ID) {
			ids = append(ids, q.Options[i].ID)
		}
	}
	return ids
}
