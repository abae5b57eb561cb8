package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
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

// questions returns the dialect of AskUserQuestion.
func questions() dialect.Dialect {
	d, _ := dialect.Lookup("claude-code")
	return d
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
			faults = append(faults, ask.Fault{Pointer: "/wait_seconds", Message: "is not a number; give a number of seconds"})
		case n < 0:
			faults = append(faults, ask.Fault{Pointer: "/wait_seconds", Message: fmt.Sprintf("is %v; give 0 or more", n)})
		default:
			call.Wait = time.Duration(min(n, ask.MaxHold.Seconds()) * float64(time.Second))
		}
	}
	var err error
	call.Ask, call.Warnings, err = questions().Ask(arguments)
	if refused, ok := errors.AsType[*ask.Error](err); ok {
		faults = append(refused.Faults, faults...)
	} else if err != nil {
		return toolCall{}, err
	}
	if err := ask.InvalidError("claude-code request", faults); err != nil {
		return toolCall{}, err
	}
	return call, nil
}
