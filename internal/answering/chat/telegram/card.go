package telegram

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/go-telegram/bot/models"
)

// Limits of a message. Telegram counts texts in UTF-16 units.
const (
	maxText    = 4096
	maxLabel   = 60 // of a button: phones cut longer ones
	maxContext = 900
	maxPreview = 700 // of each option
)

// text is a text with entities. Other people's words are literal in it.
type text struct {
	b        strings.Builder
	n        int // UTF-16 units
	entities []models.MessageEntity
	cut      bool // something did not fit
	quiet    bool // it notifies nobody
	whole    bool // it has buttons that count only if all of it is shown
	most     int  // UTF-16 units that it may have; 0: those of a message that is not rich
}

func (t *text) String() string { return t.b.String() }

// reserve is what is kept for the end of a text.
const reserve = 460

// add appends words as an entity of a type; "" is none.
func (t *text) add(words, typ, url string) { t.upTo(t.limit()-reserve, words, typ, url) }

func (t *text) limit() int { return cmp.Or(t.most, maxText) }

func (t *text) upTo(most int, words, typ, url string) {
	words = strings.ReplaceAll(words, "@", "@\u200b") // mentions nobody
	short := chat.ClipUnits(words, most-t.n)
	t.cut = t.cut || short != words
	if short == "" {
		return
	}
	n := chat.Units(short)
	if typ != "" {
		t.entities = append(t.entities, models.MessageEntity{Type: models.MessageEntityType(typ), Offset: t.n, Length: n, URL: url})
	}
	t.b.WriteString(short)
	t.n += n
}

// keyboard is an inline keyboard. It is not the library's, whose buttons all have an empty copy_text.
type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data,omitempty"`
}

// maxDraft bounds the draft that a message carries in its link. Telegram documents no limit of a link's length.
const maxDraft = 1000

// drawing is a pending ask to draw.
type drawing struct {
	*card.Card
	id       string // short id
	link     string
	bot      string // user name
	mentions []string
	rich     bool // it becomes a rich message
	spare    int  // UTF-16 units that are kept for answers so far
}

// mark returns the address of the link at the beginning of a message: it says which question a reply to the
// message is for, and carries a person's answers so far.
func (d *drawing) mark(draft chat.Draft) string {
	address := "https://t.me/" + d.bot + "?start=" + d.id + "-" + strconv.Itoa(len(draft.Steps.Answers))
	if held := draft.Encode(maxDraft); draft.By != "" && held != "" {
		address += "&draft=" + held
	}
	return address
}

// mention mentions users. A group is a chat, which nobody can mention.
func (t *text) mention(ids []string) {
	for _, id := range ids {
		n := t.n
		user, _ := strconv.ParseInt(id, 10, 64)
		if user <= 0 {
			continue
		}
		t.add("👤 ", "", "")
		t.entities = append(t.entities, models.MessageEntity{Type: "text_mention", Offset: n, Length: 2, User: &models.User{ID: user, FirstName: id}})
	}
}

// at returns a function that draws the message at the next question, as a rich one or not.
func (d *drawing) at(draft chat.Draft) func(rich bool) text {
	return func(rich bool) text {
		one := *d
		one.rich = rich
		return one.text(draft)
	}
}

// text returns the message at the next question, with the answers so far.
func (d *drawing) text(draft chat.Draft) text {
	t := text{quiet: d.Priority.Level == ask.PriorityLow, whole: d.whole()}
	if t.most = maxText; d.rich {
		t.most = maxRich
	}
	t.most -= d.spare
	sign := "❓"
	if d.Priority.Urgent() {
		sign = "🚨"
	}
	t.add(sign, "text_link", d.mark(draft))
	t.add(" "+d.Head()+"\n", "", "")
	t.mention(d.mentions)
	if d.Title != "" {
		t.add(chat.ClipUnits(d.Title, d.room(200))+"\n", "bold", "")
	}
	if d.Context != nil {
		d.body(&t, d.Context, d.contextRoom())
	}
	for _, line := range chat.FileTexts(d.Files, literal) {
		t.add(line+"\n", "", "")
	}
	for _, l := range draft.Steps.Review(d.Card) {
		t.add("✓ "+chat.ClipUnits(chat.OneLine(l.Question), 80)+" ", "", "")
		t.add(chat.ClipUnits(chat.OneLine(l.Answer), 80)+"\n", "bold", "")
	}
	if q := draft.Steps.Next(d.Card); q != nil {
		d.question(&t, q)
	} else {
		t.add(d.Text(), "", "")
	}
	for _, line := range chat.Standing(d.Card, literal) {
		t.add(line+"\n", "", "")
	}
	d.foot(&t)
	return t
}

// whole reports whether all is shown: of a permission, for which the message has room.
func (d *drawing) whole() bool { return d.Permits && d.Withheld == "" }

// room returns how much of a part is shown.
func (d *drawing) room(most int) int {
	if d.whole() {
		return maxText
	}
	return most
}

// previewRoom is how much of an option's preview is shown, and contextRoom of the context: in a rich message what the
// previews leave.
func (d *drawing) previewRoom() int {
	if d.whole() {
		return maxRich
	}
	if d.rich {
		return richPreview
	}
	return maxPreview
}

func (d *drawing) contextRoom() int {
	if d.whole() {
		return maxRich
	}
	if !d.rich {
		return maxContext
	}
	room := maxRich - richRest
	for i := range d.Questions[0].Options {
		if p := d.Questions[0].Options[i].Preview; p != nil {
			room -= min(chat.Units(p.Body), richPreview)
		}
	}
	return max(room, maxContext)
}

func (d *drawing) body(t *text, p *card.Preview, most int) {
	parts, cut := chat.Parts(p, most, chat.ClipUnits)
	t.cut = t.cut || cut
	for _, part := range parts {
		typ := ""
		if part.Code {
			typ = "pre"
		}
		t.add(part.Text, typ, "")
		t.add("\n", "", "")
	}
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
			short := func(s string) string { return chat.ClipUnits(s, d.room(200)) }
			t.add(chat.OptionText(i, &q.Options[i], short, short, short)+"\n", "", "")
			if p := q.Options[i].Preview; p != nil {
				d.body(t, p, d.previewRoom())
			}
		}
	}
	if q.Hint != "" {
		t.add(chat.ClipUnits(q.Hint, 200)+"\n", "", "")
	}
}

// foot ends a message; there is room for it.
func (d *drawing) foot(t *text) {
	for _, words := range chat.Foot(d.Card, t.cut, chat.ClipUnits, 120) {
		t.upTo(t.limit(), "\n"+words, "", "")
	}
	if d.link != "" {
		t.upTo(t.limit(), "\n", "", "")
		t.upTo(t.limit(), d.Say("Open in browser"), "text_link", d.link)
	}
}

// keyboard returns the buttons of the next question: a row for each option, and one for the rest.
func (d *drawing) keyboard(s card.Steps) *keyboard {
	k, last := &keyboard{}, []button{}
	for _, one := range s.Buttons(d.Card) {
		b := button{Text: chat.ClipUnits(one.Label, maxLabel), Data: d.id + ":" + one.Data}
		if one.Recommended {
			b.Text = "⭐ " + b.Text
		}
		if one.Do == card.DoChoose {
			k.Rows = append(k.Rows, []button{b})
		} else {
			last = append(last, b)
		}
	}
	k.Rows = append(k.Rows, last)
	return k
}

func literal(s string, most int) string { return chat.ClipUnits(chat.OneLine(s), most) }

// outcome returns the text of an ended ask.
func outcome(sum chat.Summary) text {
	var t text
	t.add(sum.Heading+"\n"+sum.Mark.Sign(), "", "")
	t.add(sum.Verdict, "bold", "")
	for _, part := range sum.Beside() {
		t.add(" · "+part, "", "")
	}
	for _, l := range sum.Lines {
		t.add("\n"+l.Question+" ", "", "")
		t.add(l.Answer, "bold", "")
		if l.Note != "" {
			t.add(" ("+l.Note+")", "", "")
		}
	}
	for _, words := range append([]string{sum.Reply}, sum.Votes...) {
		if words != "" {
			t.add("\n"+words, "", "")
		}
	}
	return t
}
