package slack_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
)

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	app, err := slack.New(nil, slack.Options{BotToken: "xoxb-1", AppToken: "xapp-1", Options: chat.Options{Routes: chat.Routes{Default: chat.Target{Channel: "C1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	app.WriteMetrics(&b)
	types := regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(b.String(), -1)
	if len(types) < 5 {
		t.Errorf("metrics: %s", &b)
	}
	for _, m := range types {
		if !strings.Contains(string(doc), "| `"+m[1]+"` | "+m[2]+" |") {
			t.Errorf("docs/metrics.md has no row of %s, a %s", m[1], m[2])
		}
	}
}
