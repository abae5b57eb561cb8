// Package linttest proves that .golangci.yml reports what it is there for. A
// check that cannot fail is worth nothing, and import rules fail silently: a
// mistyped path or a shadowed prefix allows everything. So the test builds a
// scratch module of our own name, breaks each rule in it once, and wants every
// break reported and nothing else.
//
// It compiles golangci-lint, so it stands behind the build tag lint and is run
// by `make lint`, not by `make test`.
package linttest
