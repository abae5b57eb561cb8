package guard

import (
	"strings"
	"testing"
)

func TestRefuseWinsOverAskAndAskOverAllow(t *testing.T) {
	t.Parallel()
	rules, err := ReadRules([]byte(`
otherwise: allow
rules:
  - { tool: "*", then: allow }
  - { tool: "write_*", then: ask, min_proof: os }
  - { tool: write_file, arguments: { /path: "/etc/*" }, then: refuse }
  - { tool: write_file, arguments: { /path: "/etc/*", /mode: "6*" }, then: ask }
  - { tool: run, arguments: { /steps/1/cmd: "rm *" }, then: refuse }
  - { tool: run, arguments: { /a~1b: "true" }, then: ask }
  - { tool: run, arguments: { "": "*danger*" }, then: refuse }
  - { tool: read, then: ask }
  - { tool: read, arguments: { /path: "*/.ssh/*" }, then: refuse }
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, arguments string
		want            Verdict
	}{
		{"ls", `{}`, Allow},
		{"write_dir", `{}`, Ask},
		{"Write_dir", `{}`, Allow},
		{"write_file", `{"path":"/home/x"}`, Ask},
		{"write_file", `{"path":"/etc/x\ny","mode":644}`, Refuse},
		{"write_file", `{"path":["/etc/x"]}`, Ask},
		{"run", `{"steps":[{},{"cmd":"rm -r"}]}`, Refuse},
		{"run", `{"steps":[{"cmd":"rm -r"}]}`, Allow},
		{"run", `{"a/b": true}`, Ask},
		{"run", `{"x": {"y": "danger"}}`, Refuse},
		{"read", `{"Path":"/home/x/.ssh/id"}`, Refuse}, // the server may ignore the case of names
	} {
		if got := rules.decide(c.tool, []byte(c.arguments)); got.Then != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.arguments, got.Then, c.want)
		}
	}
	only, err := ReadRules([]byte(`rules: [{ tool: read, arguments: { /path: "/work/*" }, then: allow }]`))
	if got := only.decide("read", []byte(`{"PATH":"/work/a"}`)); err != nil || got.Then != Ask { // it may read something else
		t.Errorf("an allowed path in another case: %v, %v", got.Then, err)
	}
	if got := new(Rules).decide("ls", nil); got.Then != Ask || got.timeout != keep {
		t.Errorf("without rules: %+v", got)
	}
}

func TestInvalidRulesSayWhatToDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"otherwise: maybe":                                               "otherwise: is \"maybe\"; use allow, ask or refuse",
		"rules: [{then: ask}]":                                           "rules[0].tool: is missing",
		"rules: [{tool: x}]":                                             "rules[0].then: is \"\"; use",
		"rules: [{tool: x, then: ask, min_proof: much}]":                 "rules[0].min_proof: is \"much\"; use ",
		"rules: [{tool: x, then: allow, without_client: true}]":          "belong to ask",
		"rules: [{tool: x, then: ask, timeout: 48h}]":                    "rules[0].timeout: is \"48h\"; give 1s to 24h",
		"rules: [{tool: x, then: ask, arguments: {path: y}}]":            "\"path\" is no JSON pointer; begin it with /",
		"rules: [{tools: x, then: ask}]":                                 "unknown field \"tools\"",
		"rules: [" + strings.Repeat("{tool: x, then: ask},", 1001) + "]": "at most 1000",
	} {
		if _, err := ReadRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
