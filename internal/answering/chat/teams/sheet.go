package teams

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf16"
)

// sheet is an Adaptive Card 1.5, as far as cards here use it.
type sheet struct {
	Type     string    `json:"type"`
	Schema   string    `json:"$schema,omitempty"`
	Version  string    `json:"version,omitempty"`
	Body     []element `json:"body"`
	Actions  []action  `json:"actions,omitempty"`
	Refresh  *refresh  `json:"refresh,omitempty"`
	Fallback string    `json:"fallbackText,omitempty"`
	Teams    *extras   `json:"msteams,omitempty"`
}

// refresh makes a client ask for the card when it shows it. It does so by itself in conversations of at most 60 people.
type refresh struct {
	Action  action   `json:"action"`
	UserIDs []string `json:"userIds"`
}

// extras are Teams' own fields of a card.
type extras struct {
	Width    string    `json:"width,omitempty"`
	Entities []mention `json:"entities,omitempty"`
}

type mention struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Mentioned mentioned `json:"mentioned"`
}

type mentioned struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// element is an element of a card. Texts of other people stand only in runs.
type element struct {
	Type    string   `json:"type"`
	ID      string   `json:"id,omitempty"`
	Spacing string   `json:"spacing,omitempty"`
	Style   string   `json:"style,omitempty"`
	Inlines []run    `json:"inlines,omitempty"`
	Actions []action `json:"actions,omitempty"`
	Text    string   `json:"text,omitempty"`
	Wrap    bool     `json:"wrap,omitempty"`

	Label       string   `json:"label,omitempty"`
	Choices     []choice `json:"choices,omitempty"`
	Several     bool     `json:"isMultiSelect,omitempty"`
	Multiline   bool     `json:"isMultiline,omitempty"`
	MaxLength   int      `json:"maxLength,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	Title       string   `json:"title,omitempty"`
	Min         any      `json:"min,omitempty"`
	Max         any      `json:"max,omitempty"`
}

// run is text without markup.
type run struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
	Subtle bool   `json:"isSubtle,omitempty"`
	Font   string `json:"fontType,omitempty"`
	Size   string `json:"size,omitempty"`
	Color  string `json:"color,omitempty"`
}

type choice struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

type action struct {
	Type     string  `json:"type"`
	Title    string  `json:"title,omitempty"`
	Verb     string  `json:"verb,omitempty"`
	Style    string  `json:"style,omitempty"`
	Data     *target `json:"data,omitempty"`
	Fallback *action `json:"fallback,omitempty"`
	URL      string  `json:"url,omitempty"`
	Card     *sheet  `json:"card,omitempty"`
}

// target is what an action carries: an ask in one of its lives, and what to do. Clients add the inputs beside it.
type target struct {
	Ref    string `json:"askbus"` // as [chat.Ref.Question]
	Do     string `json:"do"`
	Option *int   `json:"option,omitempty"` // number
}

// execute returns an action that the app carries out; older clients send it as a message.
func execute(title, style string, t target) action {
	return action{
		Type: "Action.Execute", Title: title, Verb: t.Do, Style: style, Data: &t,
		Fallback: &action{Type: "Action.Submit", Title: title, Style: style, Data: &t},
	}
}

func open(title, address string) action {
	return action{Type: "Action.OpenUrl", Title: title, URL: address}
}

// newSheet returns an empty card.
func newSheet() *sheet {
	return &sheet{Type: "AdaptiveCard", Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Version: "1.5", Teams: &extras{Width: "Full"}}
}

// units returns the size of a card as Teams counts it: bytes of its JSON as UTF-16.
func (s *sheet) units() int {
	data, err := json.Marshal(s)
	if err != nil {
		return maxSheet + 1
	}
	return 2 * len(utf16.Encode([]rune(string(data))))
}

// inert breaks what Teams reads in any text: mentions, and dates in double braces.
var inert = strings.NewReplacer("<at", "<\u200bat", "</at", "<\u200b/at", "{{", "{\u200b{") //nolint:gochecknoglobals // never changed

// title breaks what clients also read in labels and choices: Markdown's links.
func title(text string, most int) string {
	return strings.NewReplacer("](", "]\u200b(", "<", "<\u200b", "{{", "{\u200b{").Replace(clip(text, most))
}

// literal returns a run of other people's words, on one line.
func literal(text string) run { return run{Type: "TextRun", Text: inert.Replace(text)} }

func bold(text string) run { r := literal(text); r.Weight = "Bolder"; return r }

func subtle(text string) run { r := literal(text); r.Subtle = true; return r }

// line returns a line of runs.
func line(spacing string, runs ...run) element {
	return element{Type: "RichTextBlock", Spacing: spacing, Inlines: runs}
}

// lines adds a line for each line of a text. Layout keeps its spaces.
func lines(to []element, text string, layout bool) []element {
	for i, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		spacing := "None"
		if i == 0 {
			spacing = "Small"
		}
		r := literal(l)
		if layout {
			r.Text, r.Font = strings.ReplaceAll(strings.ReplaceAll(r.Text, "\t", "    "), " ", "\u00a0"), "Monospace"
		}
		r.Text = cmp.Or(r.Text, "\u00a0")
		to = append(to, line(spacing, r))
	}
	return to
}
