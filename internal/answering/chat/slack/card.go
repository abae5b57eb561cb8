package slack

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
)

// Limits of Block Kit that apply to cards.
const (
	maxButton      = 75
	maxButtons     = 10 // more options become a select
	maxChecks      = 10
	maxSelect      = 100
	maxSection     = 3000
	maxOptionText  = 75
	maxContextText = 900  // of the agent's context
	maxPreview     = 1400 // per preview
	maxPreviews    = 4000 // per card
	maxFooter      = 1500 // bytes of a message that are kept for what follows the questions
)

// Ids of actions. Slack requires unique ids within a message, so those of options end with their
// number.
const (
	actionChoose  = "choose"
	actionSelect  = "select"
	actionCheck   = "check"
	actionSend    = "send"
	actionAnswer  = "answer" // opens the modal
	actionDecline = "decline"
	actionOpen    = "open" // a link
	actionUnvote  = "unvote"
)

// card is a Slack message: its blocks, and the text of notifications.
type content struct {
	Text   string
	Blocks []slackapi.Block
	Cut    bool // something did not fit
}

// asked is the data of a pending ask's card.
type asked struct {
	Record   ask.Record
	Life     string
	Card     *card.Card
	Mentions []string // user and user group ids to notify
	Link     string   // the ask in the web inbox
	Earlier  string   // the previous card of its session in the channel
	Sends    bool     // its files are sent below it
	Replies  bool     // replies in the thread are received
	Chosen   string   // id of the option that a form begins with
}

// pendingCard renders a pending ask.
func pendingCard(a asked) content {
	c := a.Card
	var blocks []slackapi.Block
	add := func(b slackapi.Block) { blocks = append(blocks, b) }
	add(slackapi.NewContextBlock("", mrkdwn(headline(a), 2000)))
	if len(a.Mentions) > 0 {
		add(slackapi.NewSectionBlock(mrkdwn(mentions(a.Mentions), maxSection), nil, nil))
	}
	told, cut := said(a)
	blocks = append(blocks, told...)
	if votes := chat.Standing(c, literal); len(votes) > 0 {
		add(slackapi.NewSectionBlock(mrkdwn(strings.Join(votes, "\n"), maxSection), nil, nil))
	}
	blocks = append(blocks, controls(a)...)
	if len(c.Attention) > 0 {
		add(slackapi.NewContextBlock("", mrkdwn(":eyes: "+clipBytes(escape(strings.Join(c.Attention, " · ")), 300), 2000)))
	}
	cut = cut || len(blocks) >= maxBlocks || size(blocks) > maxBlocksBytes-maxFooter
	add(slackapi.NewContextBlock("", mrkdwn(footer(a, cut), 2000)))
	return content{Text: notification(a), Blocks: blocks, Cut: cut}
}

// said returns what the agent says: the title, the context, the files and the questions with their options. A permission has
// room for all of it, as long as the whole message has.
func said(a asked) (blocks []slackapi.Block, cut bool) {
	c, room, previews := a.Card, maxContextText, maxPreviews
	if c.Permits && c.Withheld == "" {
		room, previews = maxBlocksBytes, maxBlocksBytes
	}
	if c.Title != "" {
		blocks = append(blocks, slackapi.NewSectionBlock(mrkdwn("*"+escape(c.Title)+"*", maxSection), nil, nil))
	}
	if c.Context != nil {
		said, less := body("", c.Context, room)
		blocks, cut = append(blocks, said...), less
	}
	files := chat.InboxFiles(c, a.Link, literal)
	if a.Sends {
		files = chat.FileTexts(c.Files, literal)
	}
	if len(files) > 0 {
		blocks = append(blocks, slackapi.NewSectionBlock(mrkdwn(strings.Join(files, "\n"), maxSection), nil, nil))
	}
	for i := range c.Questions {
		blocks = append(blocks, questionBlocks(c, &c.Questions[i], &previews, &cut)...)
	}
	return blocks, cut
}

// notification returns the text that a phone shows and a screen reader reads.
func notification(a asked) string {
	text := a.Card.Asker.Agent + ": " + card.Heading(&a.Record.Ask)
	if a.Card.Priority.Words != "" {
		text = a.Card.Priority.Words + " · " + text
	}
	return clipBytes(escape(text), 600)
}

func mentions(ids []string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = "<@" + id + ">"
		if strings.HasPrefix(id, "S") {
			words[i] = "<!subteam^" + id + ">"
		}
	}
	return strings.Join(words, " ")
}

// headline returns who asks, for whom, since when and until when.
func headline(a asked) string {
	c := a.Card
	parts := []string{c.Say("%s asks", "*"+escape(clip(c.Asker.Agent, 80))+"*")}
	if c.Asker.For != "" {
		parts[0] = c.Say("%s %s|who asks, for whom", parts[0], c.Say("for %s", escape(clip(c.Asker.For, 120))))
	}
	add := func(s string) { parts = append(parts, s) }
	if work := c.Asker.Work(c.Lang); work != "" {
		add(escape(clip(work, 160)))
	}
	if c.Asker.Link != "" && len(c.Asker.Link) <= maxLink {
		add("<" + escapeLink(c.Asker.Link) + "|" + escape(c.Asker.Host) + ">")
	}
	session := escape(clip(c.Asker.Session, 80))
	if a.Earlier != "" && len(a.Earlier) <= maxLink {
		session = "<" + escapeLink(a.Earlier) + "|" + session + ">"
	}
	add(c.Say("session %s", session))
	if c.Asker.Tenant != "" {
		add(escape(clip(c.Asker.Tenant, 80)))
	}
	if !a.Record.AskedAt.IsZero() {
		add(c.Say("since %s", dayAndTime(a.Record.AskedAt)))
	}
	if at, declared := a.Record.Deadline(); declared {
		add(c.Say("until %s", dayAndTime(at)))
	}
	if c.Priority.Words != "" {
		add("*" + escape(c.Priority.Words) + "*")
	}
	return strings.Join(parts, " · ")
}

// questionBlocks renders a question with its options as text.
func questionBlocks(c *card.Card, q *card.Question, previews *int, cut *bool) []slackapi.Block {
	head := ""
	if q.Step != "" {
		head = q.Step + " · "
	}
	if q.Chip != "" {
		head += "[" + q.Chip + "] "
	}
	text := head + card.InlinePlain(q.Text)
	if len(q.Marks) > 0 {
		text += " (" + strings.Join(q.Marks, ", ") + ")"
	}
	var blocks []slackapi.Block
	if utf8.RuneCountInString(text) <= 150 {
		blocks = append(blocks, slackapi.NewHeaderBlock(plain(text, 150)))
	} else {
		for _, part := range split(text, maxSection) {
			blocks = append(blocks, slackapi.NewSectionBlock(plain(part, maxSection), nil, nil))
		}
	}
	for _, part := range split(optionList(c, q), maxSection) {
		blocks = append(blocks, slackapi.NewSectionBlock(mrkdwn(part, maxSection), nil, nil))
	}
	most := maxPreview
	if c.Permits && c.Withheld == "" {
		most = maxBlocksBytes
	}
	for i := range q.Options {
		o := &q.Options[i]
		if o.Preview == nil {
			continue
		}
		if *previews <= 0 {
			*cut = true
			break
		}
		shown, less := body(strconv.Itoa(i+1)+". "+clip(chat.OneLine(o.Label), 150), o.Preview, min(most, *previews))
		*cut = *cut || less
		*previews -= min(utf8.RuneCountInString(o.Preview.Body), most)
		blocks = append(blocks, shown...)
	}
	if q.Hint != "" {
		blocks = append(blocks, slackapi.NewContextBlock("", plain(q.Hint, 1000)))
	}
	return blocks
}

// optionList renders the options as text, unless buttons show everything: only the options of the
// only question have buttons.
func optionList(c *card.Card, q *card.Question) string {
	if q.Kind != ask.KindChoice || q.Of == 1 && c.Withheld == "" && !chat.Tells(q, long) {
		return ""
	}
	lines := make([]string, len(q.Options))
	for i := range q.Options {
		lines[i] = chat.OptionText(i, &q.Options[i], func(s string) string { return "*" + escape(s) + "*" }, func(s string) string { return "_" + escape(s) + "_" },
			func(s string) string { return escape(clip(s, 300)) })
	}
	return strings.Join(lines, "\n")
}

func long(label string) bool { return utf8.RuneCountInString(label) > maxButton }

// numbered reports whether buttons have numbers instead of labels.
func numbered(q *card.Question) bool {
	return slices.ContainsFunc(q.Options, func(o card.Option) bool { return long(o.Label) })
}

// footer renders the hints below the questions.
func footer(a asked, cut bool) string {
	c := a.Card
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(escape(c.Withheld))
	if cut && c.Withheld == "" {
		more := c.Say("Not everything fits here.")
		if a.Link != "" {
			more = c.Say("Not everything fits here: open it in the browser to see the rest.")
		}
		add(more)
	}
	add(escape(clip(c.ForThem, 400)))
	add(escape(clip(c.AtEnd, 300)))
	if c.Held != "" {
		add(escape(c.Held))
	}
	for _, d := range c.Defaults {
		add(escape(clip(chat.OneLine(d.Question+" "+d.Answer), 200)))
	}
	if a.Replies && c.Withheld == "" {
		add(c.Say("Or reply in the thread, beginning with “answer:”."))
	}
	if len(parts) == 0 && c.Approval == nil && c.Withheld == "" {
		add(c.Say("The first answer counts."))
	}
	return strings.Join(parts, "  ")
}
