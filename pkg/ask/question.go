package ask

import "strings"

// Kind says how a question is answered.
type Kind string

// The kinds of questions. A reader shows a question of an unknown kind as text;
// the broker refuses it.
const (
	KindChoice  Kind = "choice"  // pick from options; without options, free text
	KindText    Kind = "text"    // type a text
	KindNumber  Kind = "number"  // type a number
	KindBoolean Kind = "boolean" // yes or no
	KindDate    Kind = "date"    // an RFC 3339 full-date such as 2026-11-20
)

// Question is one thing to decide. The zero values of its switches are the
// defaults of the protocol: required, one choice, Other text allowed.
type Question struct {
	ID     string `json:"id,omitempty"`
	Kind   Kind   `json:"kind,omitempty"`   // empty: choice when there are options, else text
	Header string `json:"header,omitempty"` // a label of at most [MaxHeader] code points; optional
	Text   string `json:"text"`

	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`    // several options may be chosen
	MinItems int      `json:"min_items,omitempty"`   // with Multiple: at least this many (Other counts as one)
	MaxItems int      `json:"max_items,omitempty"`   // with Multiple: at most this many; 0 means all
	NoOther  bool     `json:"allow_other,omitempty"` // choices only: no free "Other" text; inverted in JSON, allow_other: false

	Optional    bool    `json:"required"`              // the person may skip it; inverted in JSON, required: false
	Default     *Answer `json:"default,omitempty"`     // the answer for at_deadline "default"; its JSON is the bare value
	Placeholder string  `json:"placeholder,omitempty"` // a hint inside an empty text field
	Limits      Limits  `json:"limits,omitzero"`
}

// Option is one choice of a question.
type Option struct {
	ID          string   `json:"id,omitempty"`
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	Preview     *Preview `json:"preview,omitempty"`     // single choice only
	File        *File    `json:"file,omitempty"`        // an uploaded file that shows the option; single choice only
	Recommended bool     `json:"recommended,omitempty"` // the agent's suggestion; shown as a small mark
	Cancels     bool     `json:"cancels,omitempty"`     // choosing it ends the whole ask as cancelled
	Destructive bool     `json:"destructive,omitempty"` // it destroys something for good: surfaces ask twice. Its absence promises nothing
}

// Preview is shown next to an option for visual comparison.
type Preview struct {
	Format PreviewFormat `json:"format,omitempty"` // empty: [PreviewText]
	Body   string        `json:"body"`
}

// PreviewFormat is the format of a preview's body.
type PreviewFormat string

// The preview formats.
const (
	PreviewMarkdown PreviewFormat = "markdown"
	PreviewText     PreviewFormat = "text"
)

// Limits bounds a typed answer. Which fields may be set depends on the kind.
type Limits struct {
	Min       *float64 `json:"min,omitempty"`        // number: inclusive
	Max       *float64 `json:"max,omitempty"`        // number: inclusive
	Integer   bool     `json:"integer,omitempty"`    // number: whole numbers only
	MinLength int      `json:"min_length,omitempty"` // text: code points
	MaxLength int      `json:"max_length,omitempty"` // text: code points; 0 means [MaxLong]
	Pattern   string   `json:"pattern,omitempty"`    // text: RE2, matched anywhere unless it is anchored
	Message   string   `json:"message,omitempty"`    // what to tell the person when a limit is broken
	MinDate   string   `json:"-"`                    // date: inclusive; "min" in JSON
	MaxDate   string   `json:"-"`                    // date: inclusive; "max" in JSON
}

// Option returns the option with this id, or nil.
func (q *Question) Option(id string) *Option {
	for i := range q.Options {
		if q.Options[i].ID == id {
			return &q.Options[i]
		}
	}
	return nil
}

// Other reports whether free text may be given instead of the options, or with
// Multiple in addition to them.
func (q *Question) Other() bool { return q.Kind == KindChoice && !q.NoOther }

// Caption returns the label without a trailing "(Recommended)", and whether the
// option is recommended by that suffix or by its field: a surface shows one
// mark, not both.
func (o *Option) Caption() (label string, recommended bool) {
	label = strings.TrimSpace(o.Label)
	for _, mark := range []string{"(recommended)", "（recommended）", "(推荐)", "（推荐）"} {
		if at := len(label) - len(mark); at > 0 && strings.EqualFold(label[at:], mark) {
			return strings.TrimSpace(label[:at]), true
		}
	}
	return o.Label, o.Recommended
}

// Previews reports whether any option has a preview.
func (q *Question) Previews() bool {
	for i := range q.Options {
		if q.Options[i].Preview != nil {
			return true
		}
	}
	return false
}
