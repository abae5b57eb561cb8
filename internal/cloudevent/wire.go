package cloudevent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// The JSON of an ask.
type (
	askJSON struct {
		ID               string         `json:"id,omitempty"`
		Agent            *agentJSON     `json:"agent,omitempty"`
		Title            string         `json:"title,omitempty"`
		Context          string         `json:"context,omitempty"`
		Priority         string         `json:"priority,omitempty"`
		Audience         []string       `json:"audience,omitempty"`
		RequireResponder bool           `json:"require_responder,omitempty"`
		Timeout          duration       `json:"timeout,omitempty"`
		Deadline         *time.Time     `json:"deadline,omitempty"`
		AtDeadline       string         `json:"at_deadline,omitempty"`
		Metadata         map[string]any `json:"metadata,omitempty"`
		Questions        []questionJSON `json:"questions"`
	}
	agentJSON struct {
		ID     string `json:"id,omitempty"`
		Name   string `json:"name,omitempty"`
		Parent string `json:"parent,omitempty"`
	}
	questionJSON struct {
		ID          string       `json:"id,omitempty"`
		Kind        string       `json:"kind,omitempty"`
		Header      string       `json:"header,omitempty"`
		Text        string       `json:"text"`
		Options     []optionJSON `json:"options,omitempty"`
		Multiple    bool         `json:"multiple,omitempty"`
		MinItems    int          `json:"min_items,omitempty"`
		MaxItems    int          `json:"max_items,omitempty"`
		AllowOther  *bool        `json:"allow_other,omitempty"`
		Required    *bool        `json:"required,omitempty"`
		Default     *valueJSON   `json:"default,omitempty"`
		Placeholder string       `json:"placeholder,omitempty"`
		Limits      *limitsJSON  `json:"limits,omitempty"`
	}
	optionJSON struct {
		ID          string       `json:"id,omitempty"`
		Label       string       `json:"label"`
		Description string       `json:"description,omitempty"`
		Preview     *previewJSON `json:"preview,omitempty"`
		Recommended bool         `json:"recommended,omitempty"`
		Cancels     bool         `json:"cancels,omitempty"`
	}
	previewJSON struct {
		Format string `json:"format,omitempty"`
		Body   string `json:"body"`
	}
	limitsJSON struct {
		Min       *boundJSON `json:"min,omitempty"`
		Max       *boundJSON `json:"max,omitempty"`
		Integer   bool       `json:"integer,omitempty"`
		MinLength int        `json:"min_length,omitempty"`
		MaxLength int        `json:"max_length,omitempty"`
		Pattern   string     `json:"pattern,omitempty"`
		Message   string     `json:"message,omitempty"`
	}
)

// The JSON of answers and ends.
type (
	answerJSON struct {
		QuestionID string   `json:"question_id"`
		Selected   []string `json:"selected,omitempty"`
		Other      string   `json:"other,omitempty"`
		Text       string   `json:"text,omitempty"`
		Number     *float64 `json:"number,omitempty"`
		Boolean    *bool    `json:"boolean,omitempty"`
		Date       string   `json:"date,omitempty"`
		Notes      string   `json:"notes,omitempty"`
		Skipped    bool     `json:"skipped,omitempty"`
	}
	byJSON struct {
		Principal string   `json:"principal"`
		Name      string   `json:"name,omitempty"`
		Groups    []string `json:"groups,omitempty"`
		Responder string   `json:"responder,omitempty"`
		Proof     string   `json:"proof,omitempty"`
	}
	replyJSON struct {
		AskID    string       `json:"ask_id"`
		AnswerID string       `json:"answer_id"`
		Answers  []answerJSON `json:"answers,omitempty"`
		Response string       `json:"response,omitempty"`
		By       *byJSON      `json:"by"`
	}
	declineJSON struct {
		AskID    string  `json:"ask_id"`
		AnswerID string  `json:"answer_id"`
		Reason   string  `json:"reason,omitempty"`
		By       *byJSON `json:"by"`
	}
	endJSON struct { // withdraw and abort
		AskID  string `json:"ask_id"`
		Reason string `json:"reason,omitempty"`
	}
	cancelledByJSON struct {
		QuestionID string `json:"question_id"`
		OptionID   string `json:"option_id"`
	}
	outcomeJSON struct {
		AskID       string           `json:"ask_id"`
		Tenant      string           `json:"tenant"`
		Session     string           `json:"session"`
		Status      string           `json:"status"`
		Source      string           `json:"source,omitempty"`
		AnswerID    string           `json:"answer_id,omitempty"`
		Answers     []answerJSON     `json:"answers"`
		Response    string           `json:"response,omitempty"`
		Reason      string           `json:"reason,omitempty"`
		CancelledBy *cancelledByJSON `json:"cancelled_by,omitempty"`
		By          *byJSON          `json:"by,omitempty"`
		At          time.Time        `json:"at"`
		WaitedMS    int64            `json:"waited_ms"`
		Ask         *askJSON         `json:"ask,omitempty"` // as it is read; see EncodeOutcome
	}
	receiptJSON struct {
		AskID string     `json:"ask_id,omitempty"`
		Type  string     `json:"type,omitempty"`
		Seq   uint64     `json:"seq"`
		State string     `json:"state"`
		Key   string     `json:"key,omitempty"`
		Where string     `json:"where,omitempty"`
		At    *time.Time `json:"at,omitempty"`
	}
)

// marshal is json.Marshal without its escapes for HTML: what fitted into an
// event must not grow sixfold on its way into the ledger.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// duration is a time span in Go syntax, such as "2h" or "90s".
type duration time.Duration

func (d duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, time.Duration(d).String()), nil // ASCII, or "µs"
}

func (d *duration) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	*d = duration(v)
	return err
}

// valueJSON is a default: a list of option ids, a string, a number or a boolean.
type valueJSON struct{ ask.Answer }

func (v valueJSON) MarshalJSON() ([]byte, error) {
	switch {
	case v.Selected != nil:
		return marshal(v.Selected)
	case v.Number != nil:
		return marshal(*v.Number)
	case v.Boolean != nil:
		return marshal(*v.Boolean)
	case v.Date != "":
		return marshal(v.Date)
	default:
		return marshal(v.Text)
	}
}

func (v *valueJSON) UnmarshalJSON(b []byte) error {
	var raw any
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	switch raw := raw.(type) {
	case []any:
		v.Selected = make([]string, len(raw))
		for i, id := range raw {
			s, ok := id.(string)
			if !ok && id != nil { // null is no option either: pkg/ask says so
				return fmt.Errorf("item %d is no string", i)
			}
			v.Selected[i] = s
		}
	case string:
		v.Text = raw
	case float64:
		v.Number = &raw
	case bool:
		v.Boolean = &raw
	default:
		return fmt.Errorf("%s is no default", b)
	}
	return nil
}

// boundJSON is a limit: a number, or a date as a string.
type boundJSON struct {
	number *float64
	date   string
}

func (v boundJSON) MarshalJSON() ([]byte, error) {
	if v.number != nil {
		return marshal(*v.number)
	}
	return marshal(v.date)
}

func (v *boundJSON) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &v.date); err != nil {
			return err
		}
		_, err := time.Parse(time.DateOnly, v.date)
		return err
	}
	return json.Unmarshal(b, &v.number)
}
