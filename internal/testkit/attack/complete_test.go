package attack_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/jwt/v2"
)

// TestTheTableIsComplete fails for a role, permission, endpoint, verb or bucket
// without a line.
func TestTheTableIsComplete(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	pub, sub := publish(), subscribe()
	t.Run("roles", func(t *testing.T) {
		t.Parallel()
		keys, err := identity.LoadKeys(b.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for scope := range keys.Signing {
			switch _, known := roles()[scope]; {
			case known, strings.HasSuffix(scope, "-in-process"): // the same permissions, on fewer connections
			case scope == "admin", scope == "ledger-admin": // of tests
			case scope == "leaf": // no client may connect with it: internal/server/natsd/leaf_test.go
			default:
				t.Errorf("the role %s is in no line: add it to roles, and to the lines that it may use", scope)
			}
		}
		accounts, err := identity.ReadAccounts(b.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, role := range roles() {
			if got := scopeOf(t, accounts, connect(t, b, role).jwt); got != name {
				t.Errorf("%s is signed by the key of %s", name, got)
			}
			for _, in := range []struct {
				what   string
				rights []string
				table  []line
			}{{"publish to", role.Rights().Publish, pub}, {"subscribe to", role.Rights().Subscribe, sub}} {
				for _, right := range in.rights {
					right := strings.ReplaceAll(right, "{{subject()}}", subject.Self)
					if !slices.ContainsFunc(in.table, func(l line) bool { return slices.Contains(l.may, name) && within(l.subject, right) }) {
						t.Errorf("%s may %s %s, and no line says so", name, in.what, right)
					}
				}
			}
		}
	})
	t.Run("subjects", func(t *testing.T) {
		t.Parallel()
		begins := func(table []line, root string) bool {
			return slices.ContainsFunc(table, func(l line) bool { return strings.HasPrefix(l.subject, root+".") })
		}
		roots, verbs := constants(t, "../../protocol/subject")
		if len(roots) < 9 || len(verbs) < 17 {
			t.Fatalf("roots %q, verbs %q: constants are no longer found", roots, verbs)
		}
		for _, root := range roots {
			if !begins(pub, root) || !begins(sub, root) {
				t.Errorf("the root %s is in no line: add who may publish and who may subscribe", root)
			}
		}
		for _, verb := range verbs {
			if verb != string(subject.VerbWatch) && !slices.ContainsFunc(pub, func(l line) bool { return slices.Contains(strings.Split(l.subject, "."), verb) && len(l.may) > 0 }) {
				t.Errorf("the verb %s is in no line", verb)
			}
		}
		var buckets []string
		for _, bucket := range subject.Buckets() {
			buckets = append(buckets, bucket.Name)
		}
		slices.Sort(buckets)
		if have := slices.Sorted(maps.Keys(state())); !slices.Equal(have, buckets) {
			t.Errorf("the table has the buckets %q, the bus %q", have, buckets)
		}
	})
	t.Run("endpoints", func(t *testing.T) {
		t.Parallel()
		for _, e := range endpoints(t, b) {
			if !slices.ContainsFunc(pub, func(l line) bool { return len(l.may) > 0 && within(l.subject, e.Subject) }) {
				t.Errorf("the broker serves %s, and no line says who may publish there", e.Subject)
			}
		}
	})
}

// endpoint is one subject that the broker serves, from its service info.
type endpoint struct {
	Subject string `json:"subject"`
	Queue   string `json:"queue_group"`
}

func endpoints(t *testing.T, b *natstest.Bus) []endpoint {
	t.Helper()
	var info struct {
		Endpoints []endpoint `json:"endpoints"`
	}
	op := connect(t, b, roles()["operator"])
	m := op.request(t, "$SRV.INFO.askbus", nil, "")
	if err := json.Unmarshal(m.Data, &info); err != nil || len(info.Endpoints) < 20 {
		t.Fatalf("%d endpoints, %v", len(info.Endpoints), err)
	}
	return info.Endpoints
}

// within reports whether a subject, which may have wildcards, is covered by a
// permission.
func within(subj, right string) bool {
	s, r := strings.Split(subj, "."), strings.Split(right, ".")
	for i, token := range r {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s), token != "*" && token != s[i]:
			return false
		}
	}
	return len(s) == len(r)
}

// scopeOf returns the name of the scope whose key signed a user's JWT.
func scopeOf(t *testing.T, a *identity.Accounts, user string) string {
	t.Helper()
	claims, err := jwt.DecodeUserClaims(user)
	if err != nil {
		t.Fatal(err)
	}
	for account := range a.Tokens {
		c, err := a.Claims(account)
		if err != nil {
			t.Fatal(err)
		}
		if scope, ok := c.SigningKeys.GetScope(claims.Issuer); ok && scope != nil {
			return scope.(*jwt.UserScope).Role
		}
	}
	return ""
}

// constants are the first tokens of subjects and the verbs that a package
// declares.
func constants(t *testing.T, dir string) (roots, verbs []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	root := regexp.MustCompile(`^[a-z]+v[0-9]+$`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			typ, _ := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				lit, ok := v.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				if root.MatchString(text) {
					roots = append(roots, text)
				}
				if typ != nil && typ.Name == "Verb" {
					verbs = append(verbs, text)
				}
			}
			return true
		})
	}
	return roots, verbs
}
