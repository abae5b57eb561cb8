package slack_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/process/metrics/exposition"
)

// scrape returns the metrics of apps as text.
func scrape(apps ...*slack.App) string {
	var r exposition.Registry
	for _, app := range apps {
		r.Collect(app.Metrics)
	}
	return string(r.Scrape().Text(false))
}

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
	text := scrape(app)
	types := regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(text, -1)
	if len(types) != 4 { // it ended no connection, and its work has not begun
		t.Errorf("metrics: %s", text)
	}
	for _, m := range types {
		if !strings.Contains(string(doc), "| `"+m[1]+"` | "+m[2]+" |") {
			t.Errorf("docs/metrics.md has no row of %s, a %s", m[1], m[2])
		}
	}
}
