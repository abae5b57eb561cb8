package file_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/file"
)

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	type config struct {
		Name  string   `json:"name"`
		Hosts []string `json:"hosts"`
		Rules []struct {
			Need  int       `json:"need"`
			Alone *bool     `json:"alone"`
			Start time.Time `json:"start"`
		} `json:"rules"`
	}
	for _, text := range []string{"name: a\nhosts: [b]\n", `{"name":"a","hosts":["b"]}`} {
		var c config
		if err := file.DecodeYAML([]byte(text), &c); err != nil || c.Name != "a" || len(c.Hosts) != 1 {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	kept := config{Name: "kept"}
	if err := file.DecodeYAML(nil, &kept); err != nil || kept.Name != "kept" {
		t.Errorf("an empty file: %+v, %v", kept, err)
	}
	for text, says := range map[string]string{
		"name: a\nhost: [b]": `unknown field "host"`, "name: a\nname: b": "already defined", "name: [a]": "name: a list does not fit here; use a text", "name: [": "invalid YAML",
		"rules: [{need: 1}, {needs: 2}]":  `rules[1]: unknown field "needs"`,
		"rules: [{need: two}]":            "rules[0].need: a text does not fit here; use a number",
		"rules: [{alone: 1}]":             "rules[0].alone: a number does not fit here; use true or false",
		"rules: {need: 1}":                "rules: a mapping does not fit here; use a list",
		"rules: [need]":                   "rules[0]: a text does not fit here; use a mapping",
		"rules: [{start: yesterday}]":     "rules[0].start: parsing time",
		"rules: [{need: 1}]\nhosts: true": "hosts: true does not fit here; use a list",
		"name: a\n---\nhosts: [b]\n":      "several YAML documents", // the second would be left out
		"name: a\n...\nhosts: [b]\n...\n": "several YAML documents",
	} {
		if err := file.DecodeYAML([]byte(text), &config{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want %s", text, err, says)
		}
	}
}
