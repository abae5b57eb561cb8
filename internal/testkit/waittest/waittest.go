// Package waittest says how long a test waits for something that should happen.
// A test that passes waits only until it has happened, so the limit is generous:
// it has to hold on a machine that is ten times slower and shared with others.
// It is below the limit of a whole package (hack/test), so that a test that fails
// says what it waited for.
package waittest

import "time"

// Limit is how long a test waits at most.
const Limit = slower * 2 * time.Minute
