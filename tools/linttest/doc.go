// Package linttest checks that .golangci.yml reports what it should. A rule of our own fails
// silently: a mistyped path allows everything. So the test builds a scratch module with our module
// path, breaks each in it once, and expects exactly these issues.
//
// It compiles golangci-lint, so it has the build tag lint and runs in `make lint`, not in `make
// test`.
package linttest
