package main

import (
	"errors"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
)

// Exit codes, as the help says them.
const (
	exitAnswered  = 0 // answered, or the command succeeded
	exitFailure   = 1
	exitUsage     = 2
	exitPending   = 3
	exitCancelled = 4 // cancelled, withdrawn or aborted
	exitExpired   = 5 // expired, with or without default answers
	exitRefused   = 6 // invalid, id reused, forbidden, answered already
)

const exitCodes = `Exit codes: 0 answered (or accepted) · 1 failure · 2 usage · 3 still pending ·
4 cancelled, withdrawn or aborted · 5 expired, even with default answers ·
6 refused: invalid, id reused, forbidden, answered already`

// exitError ends the process with a code. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if err == nil {
		return exitAnswered
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	for _, refused := range []error{ask.ErrInvalid, ask.ErrForbidden, ask.ErrResolved, ask.ErrIDReused, ask.ErrTooLarge, ask.ErrQuota, ask.ErrNobody} {
		if errors.Is(err, refused) {
			return exitRefused
		}
	}
	return exitFailure
}

// outcomeCode returns the exit code for an outcome.
func outcomeCode(o *ask.Outcome) int {
	switch o.Status {
	case ask.StatusAnswered:
		return exitAnswered
	case ask.StatusExpired:
		return exitExpired
	case ask.StatusCancelled, ask.StatusWithdrawn, ask.StatusAborted:
		return exitCancelled
	}
	return exitFailure
}
