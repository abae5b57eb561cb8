//go:build shots

package email_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// TestPictures writes the mail and the page of docs/email.md as HTML, for a browser to draw.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MAIL_PICTURES")
	if dir == "" {
		t.Skip("set MAIL_PICTURES to a directory")
	}
	w := replying(t, func(s *surface) {
		s.opts.Link = func(k ask.Key) string { return "https://ask.example.com/ask/" + k.String() }
	})
	a := ask.Ask{
		ID: "storage", Title: "Storage of the order service", Context: "The service has to survive a restart of its node. **Today** it keeps orders in memory.",
		Agent: ask.Agent{Name: "builder", Repository: "acme/orders", Branch: "main"}, Priority: ask.PriorityUrgent,
		Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "Operated already; one more schema.", Recommended: true, Preview: &ask.Preview{Body: "+---------+      +------------+\n| orders  | ---> | PostgreSQL |\n+---------+      +------------+\n     replicas: 2, backups hourly"}},
			{ID: "lite", Label: "SQLite", Description: "One file on a volume; no second writer."},
			{ID: "drop", Label: "Keep it in memory", Description: "Orders are lost with the node.", Destructive: true},
		}}},
	}
	w.Ask(a)
	m := w.question(tom, "Which database?")
	link := pageLink.FindString(m.Text)
	_, page := get(t, link+"?o=0")
	_, sure := post(t, link, answer("drop"))
	status, done := post(t, link, answer("pg"))
	if status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	for name, body := range map[string]string{"mail": m.HTML, "page": page, "sure": sure, "done": done} {
		body = strings.ReplaceAll(body, w.pages, "https://ask.example.com")
		if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
