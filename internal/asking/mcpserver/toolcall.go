package mcpserver

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// toolCall is a call of AskUserQuestion.
type toolCall struct {
	Ask      ask.Ask // with its id, if the call has one
	Warnings []dialect.Warning
	Wait     time.Duration // requested wait; negative: unset
}

// idShape is the dialect of a call in which each question has a question_id and options with ids, and nothing
// that only the tool's own shape has.
const idShape = "by-id"

// shapeOf returns the dialect of a call of AskUserQuestion, in which it also gets its answer.
func shapeOf(arguments []byte) dialect.Dialect {
	type object = map[string]json.RawMessage
	var call struct {
		Questions []object `json:"questions"`
	}
	byID := json.Unmarshal(arguments, &call) == nil && len(call.Questions) > 0
	for _, q := range call.Questions {
		var options []object
		byID = byID && q["question_id"] != nil && only(q, "question_id", "question", "allow_multiple", "options", "cancel_option_ids") &&
			json.Unmarshal(q["options"], &options) == nil && len(options) > 0
		for _, o := range options {
			byID = byID && o["id"] != nil && only(o, "id", "label", "description")
		}
	}
	return shape(byID)
}

// only reports whether an object has no other fields.
func only(object map[string]json.RawMessage, fields ...string) bool {
	for k := range object {
		if !slices.Contains(fields, k) {
			return false
		}
	}
	return true
}

// shapeFor returns the dialect in which an agent gets the answer to an ask.
func shapeFor(a *ask.Ask) dialect.Dialect { return shape(dialect.AskedIn(a) == idShape) }

func shape(byID bool) dialect.Dialect {
	if byID {
		return dialect.Named(idShape)
	}
	return dialect.Named("claude-code")
}

// readCall decodes the arguments of AskUserQuestion: those of the dialect, and our wait_seconds.
func readCall(arguments []byte) (toolCall, error) {
	call := toolCall{Wait: -1}
	var faults []ask.Fault
	var own struct {
		Wait any `json:"wait_seconds"`
	}
	if err := json.Unmarshal(arguments, &own); err == nil && own.Wait != nil { // what is not an object the dialect refuses
		n, ok := own.Wait.(float64)
		switch {
		case !ok:
			faults = append(faults, ask.NewFault("/wait_seconds", ask.FaultNotNumber))
		case n < 0:
			faults = append(faults, ask.NewFault("/wait_seconds", ask.FaultNegative, n))
		default:
			call.Wait = time.Duration(min(n, ask.MaxHold.Seconds()) * float64(time.Second))
		}
	}
	var err error
	d := shapeOf(arguments)
	call.Ask, call.Warnings, err = d.Ask(arguments)
	if refused, ok := errors.AsType[*ask.Error](err); ok {
		faults = append(refused.Faults, faults...)
	} else if err != nil {
		return toolCall{}, err
	}
	if err := ask.InvalidError(d.Name+" request", faults); err != nil {
		return toolCall{}, err
	}
	return call, nil
}
