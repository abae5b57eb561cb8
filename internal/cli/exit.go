package cli

import (
	"errors"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
)

// Exit codes, as the help says them.
const (
	ExitAnswered  = 0 // answered, or the command succeeded
	ExitFailure   = 1
	ExitUsage     = 2
	ExitPending   = 3
	ExitCancelled = 4 // cancelled, withdrawn or aborted
	exitExpired   = 5 // expired, with or without default answers
	ExitRefused   = 6 // invalid, id reused, forbidden, answered already
)

// ExitCodes is the part of a command's help that explains its exit codes.
const ExitCodes = `Exit codes: 0 answered (or accepted) · 1 failure · 2 usage · 3 still pending ·
4 cancelled, withdrawn or aborted · 5 expired, even with default answers ·
6 refused: invalid, id reused, forbidden, answered already`

// ExitError ends the process with a code. A nil err prints nothing.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Exit returns the error that ends the process with a code and prints nothing; nil for 0.
func Exit(code int) error {
	if code == 0 {
		return nil
	}
	return &ExitError{Code: code}
}

// Usage returns the error of a wrong command line.
func Usage(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	if err == nil {
		return ExitAnswered
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	for _, refused := range []error{ask.ErrInvalid, ask.ErrForbidden, ask.ErrResolved, ask.ErrIDReused, ask.ErrTooLarge, ask.ErrQuota, ask.ErrNobody} {
		if errors.Is(err, refused) {
			return ExitRefused
		}
	}
	return ExitFailure
}

// outcomeCode returns the exit code for an outcome.
func outcomeCode(o *ask.Outcome) int {
	switch o.Status {
	case ask.StatusAnswered:
		return ExitAnswered
	case ask.StatusExpired:
		return exitExpired
	case ask.StatusCancelled, ask.StatusWithdrawn, ask.StatusAborted:
		return ExitCancelled
	}
	return ExitFailure
}
