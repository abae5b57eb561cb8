package file_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/file"
)

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	type config struct {
		Name  string   `json:"name"`
		Hosts []string `json:"hosts"`
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
		"name: a\nhost: [b]": `unknown field "host"`, "name: a\nname: b": "already defined", "name: [a]": "cannot unmarshal", "name: [": "invalid YAML",
	} {
		if err := file.DecodeYAML([]byte(text), &config{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want %s", text, err, says)
		}
	}
}
