package webhooks

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// formatNtfy is the format of a surface whose URL is a topic of ntfy (https://ntfy.sh): people read the ask in ntfy's app
// and press a button. Anyone who knows the topic can do both.
const formatNtfy = "ntfy"

// Limits of ntfy: a longer message becomes a file, and the JSON of one has at most 8,192 bytes, in which a quotation mark
// takes two.
const (
	maxNotice  = 3_000 // bytes of the text
	maxContext = 1_200 // of these for the context
	maxHeading = 200
	maxActions = 3
	maxPressed = 60 // characters of a button
)

// notice is a message to publish. ntfy 2.16 and later show one with a sequence id that they have in its place; others
// show both.
type notice struct {
	Topic    string   `json:"topic"`
	Sequence string   `json:"sequence_id"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click,omitempty"`
	Actions  []action `json:"actions,omitempty"`
}

// action is a button of a notice.
type action struct {
	Action string `json:"action"` // http: the app calls; view: it opens a browser
	Label  string `json:"label"`
	URL    string `json:"url"`
	Method string `json:"method,omitempty"`
	Clear  bool   `json:"clear,omitempty"` // dismisses the notification once the call succeeds
}

var topicForm = regexp.MustCompile(`^/([-_A-Za-z0-9]{1,64})$`)

// topic splits the URL of a topic into the address at which messages are published as JSON, and its name.
func topic(address string) (server, name string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", err
	}
	found := topicForm.FindStringSubmatch(u.Path)
	if found == nil || u.RawQuery != "" {
		return "", "", errors.New("is not the URL of a topic of ntfy; use one such as https://ntfy.example.com/asks-Xq7u2")
	}
	u.Path = "/"
	return u.String(), found[1], nil
}

// parseToken reads an access token of ntfy from its file.
func parseToken(data []byte) (string, error) {
	token := strings.TrimSpace(string(data))
	if token == "" || len(token) > 200 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("has no access token; it is a line such as tk_…")
	}
	return token, nil
}

// notify returns the message that a delivery publishes, or nil if there is nothing to publish any more.
func (a *App) notify(d *delivery, e *Entry, rec *ask.Record) ([]byte, error) {
	if (d.Kind == question) != (rec.Outcome == nil) {
		return nil, nil
	}
	_, name, err := topic(e.URL)
	if err != nil {
		return nil, err
	}
	same := *d
	same.Kind = question // also for the outcome, which takes its place
	n := notice{Topic: name, Sequence: same.messageID(), Title: ask.Clip(card.Heading(&rec.Ask), maxHeading), Click: a.page(rec.Ask.Key())}
	c := a.card(e, rec)
	if rec.Outcome != nil {
		n.Priority, n.Tags = 2, []string{map[bool]string{true: "white_check_mark", false: "heavy_minus_sign"}[rec.Outcome.Status == ask.StatusAnswered]}
		n.Message = clipBytes(c.End.Text(), maxNotice)
		return wire.Marshal(n)
	}
	n.Priority = map[ask.Priority]int{ask.PriorityUrgent: 5, ask.PriorityHigh: 4, ask.PriorityLow: 2}[rec.Ask.Priority]
	n.Tags = []string{map[bool]string{true: "rotating_light", false: "question"}[rec.Ask.Priority == ask.PriorityUrgent]}
	n.Priority = cmp.Or(n.Priority, 3)
	cut := shorten(c)
	text := c.Text()
	n.Message = clipBytes(text, maxNotice)
	if secrets := e.endpoint().Secrets; a.opts.BaseURL != "" && len(secrets) > 0 {
		for _, b := range pressable(c) {
			pressing := *d
			pressing.Kind, pressing.Button = pressed, b.Data
			n.Actions = append(n.Actions, action{Action: "http", Label: ask.Clip(card.InlinePlain(b.Label), maxPressed), URL: a.opts.BaseURL + PathAnswer + pressing.token(secrets[0]), Method: http.MethodPost, Clear: true})
		}
	}
	if len(n.Actions) == 0 && n.Click != "" {
		n.Actions = []action{{Action: "view", Label: c.Say("Open in browser"), URL: n.Click}}
	}
	if cut = cut || n.Message != text; cut && n.Click != "" { // there is room for it
		n.Message += "\n" + c.Say("Not everything fits here.")
	}
	return wire.Marshal(n)
}

// shorten takes from a card what a message of ntfy has no use for: the title, which it has beside the text, how to type an
// answer, and a context that leaves no room for the question. It reports whether that is cut.
func shorten(c *card.Card) (cut bool) {
	c.Title, c.HowTo = "", ""
	for i := range c.Questions {
		c.Questions[i].HowTo, c.Questions[i].Hint = "", ""
	}
	if c.Context == nil {
		return false
	}
	short := *c.Context
	short.Body = clipBytes(short.Body, maxContext)
	cut = short.Body != c.Context.Body
	c.Context = &short
	return cut
}

// card returns what a surface of ntfy shows of an ask. It is nobody's in particular.
func (a *App) card(e *Entry, rec *ask.Record) *card.Card {
	return card.New(rec, card.Viewer{Surface: Type, Lang: lang.Of(e.Language).Tag, Shared: true}, a.opts.Now())
}

// pressable returns the buttons with which ntfy answers an ask: those of its one question, if they are few, each is a whole
// answer, and none is destructive.
func pressable(c *card.Card) (all []card.Button) {
	if len(c.Questions) != 1 {
		return nil
	}
	for _, b := range (card.Steps{}).Buttons(c) {
		if b.Do != card.DoChoose {
			continue
		}
		if steps, _ := (card.Steps{}).Press(c, b.Data); steps.Next(c) != nil || steps.Lacks(c) != "" || steps.Held != nil || len(all) == maxActions {
			return nil
		}
		all = append(all, b)
	}
	return all
}

// press answers an ask with the button whose address was called.
func (a *App) press(r *http.Request, d *delivery, e *Entry) (o ask.Outcome, err error) {
	rec, err := a.of(r, d, e)
	if err != nil {
		return o, err
	}
	c := a.card(e, &rec)
	for _, b := range pressable(c) {
		if b.Data == d.Button {
			steps, _ := (card.Steps{}).Press(c, b.Data)
			return a.bus.Answer(r.Context(), d.ask(), ask.Reply{AnswerID: answerID(r, nil), Answers: steps.Answers, By: e.by()})
		}
	}
	return o, ask.Refuse(ask.CodeForbidden, "this ask is not answered with this button; open it in the inbox")
}

// clipBytes cuts a text to a number of bytes.
func clipBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}
