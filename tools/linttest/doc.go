// Package linttest checks that .golangci.yml reports what it should. Import rules fail silently: a
// mistyped path or a shadowed prefix allows everything. So the test builds a scratch module with
// our module path, breaks each rule in it once, and expects exactly these issues.
//
// It compiles golangci-lint, so it has the build tag lint and runs in `make lint`, not in `make
// test`.
package linttest
