package ask

// Kind is how a question is answered.
type Kind string

// The kinds of questions. A reader that meets another one shows the question
// as text; the broker refuses it.
const (
	KindChoice  Kind = "choice"  // pick from options; with none, free text
	KindText    Kind = "text"    // type a text
	KindNumber  Kind = "number"  // type a number
	KindBoolean Kind = "boolean" // yes or no
	KindDate    Kind = "date"    // an RFC 3339 full-date such as 2026-11-20
)

// Question is one thing to decide. The zero values of its switches are the
// defaults of the protocol: required, one choice, Other text allowed.
type Question struct {
	ID     string
	Kind   Kind // empty: choice when there are options, else text
	Text   string
	Header string // a chip of at most [MaxHeader] code points; optional

	Options  []Option
	Multiple bool // several options may be chosen
	MinItems int  // with Multiple: at least so many (Other counts as one)
	MaxItems int  // with Multiple: at most so many; 0 means all
	NoOther  bool // choices only: no free "Other" text (the wire says allow_other: false)

	Optional    bool    // the person may skip it (the wire says required: false)
	Default     *Answer // the answer that at_deadline "default" gives; only its value counts
	Placeholder string  // a hint inside an empty text field
	Limits      Limits
}

// Option is one choice of a question.
type Option struct {
	ID          string
	Label       string
	Description string
	Preview     *Preview // single choice only
	Recommended bool     // the agent's suggestion, shown as a quiet mark
	Cancels     bool     // choosing it ends the whole ask as cancelled
}

// Preview is what a person compares by eye, beside the option.
type Preview struct {
	Format PreviewFormat // empty: [PreviewText]
	Body   string
}

// PreviewFormat is how a preview's body is written.
type PreviewFormat string

// The preview formats.
const (
	PreviewMarkdown PreviewFormat = "markdown"
	PreviewText     PreviewFormat = "text"
)

// Limits bounds a typed answer. Which fields may be set depends on the kind.
type Limits struct {
	Min, Max  *float64 // number: inclusive
	Integer   bool     // number: whole numbers only
	MinLength int      // text: code points
	MaxLength int      // text: code points; 0 means [MaxLong]
	Pattern   string   // text: RE2, matched anywhere unless it is anchored
	Message   string   // what to tell the person when a limit is broken
	MinDate   string   // date: inclusive
	MaxDate   string   // date: inclusive
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

// Other reports whether free text may be given instead of (or, with Multiple,
// beside) the options.
func (q *Question) Other() bool { return q.Kind == KindChoice && !q.NoOther }

// Previews reports whether a screen shows the options beside a preview.
func (q *Question) Previews() bool {
	for i := range q.Options {
		if q.Options[i].Preview != nil {
			return true
		}
	}
	return false
}
