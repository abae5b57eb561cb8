package webhooks_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// A program reads the files of an ask, and of no other one, until it has ended.
func TestAProgramReadsTheFilesOfAnAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("surfaces:\n" + w.entry("n8n"))
	upload := func(name, text string) ask.File {
		f, err := w.asks.Upload(t.Context(), name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	plan, schema, other := upload("plan.txt", "1. migrate\n"), upload("schema.txt", "create table t"), upload("other.txt", "of another ask")
	second := database("a2")
	second.Files = []ask.File{other}
	w.put(second)
	w.next()
	a := database("a1")
	a.Files, a.Questions[0].Options[0].File = []ask.File{plan}, &schema
	k := w.put(a)
	c := w.next()
	var got struct {
		AnswerURL string `json:"answer_url"`
		Files     []struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			At        string `json:"at"`
			URL       string `json:"url"`
			MediaType string `json:"media_type"`
			Size      int64  `json:"size"`
		} `json:"files"`
	}
	if err := json.Unmarshal(c.Data, &got); err != nil || len(got.Files) != 2 {
		t.Fatalf("%v, got %s", err, c.Data)
	}
	if f := got.Files[0]; f.Name != "plan.txt" || f.MediaType != "text/plain" || f.Size != 11 || f.At != "/files/0" || f.URL != got.AnswerURL+"/files/"+plan.ID {
		t.Errorf("the first file: %+v", f)
	}
	if f := got.Files[1]; f.Name != "schema.txt" || f.At != "/questions/0/options/0/file" {
		t.Errorf("the second file: %+v", f)
	}
	read := func(url string) *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		w.apps[0].Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimPrefix(url, "https://bus.example.com"), nil))
		return rec
	}
	if r := read(got.Files[0].URL); r.Code != 200 || r.Body.String() != "1. migrate\n" || !strings.HasPrefix(r.Header().Get("Content-Disposition"), "attachment") || r.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("read: %d %q %v", r.Code, r.Body, r.Header())
	}
	for name, url := range map[string]string{
		"a file of another ask": got.AnswerURL + "/files/" + other.ID,
		"a forged address":      got.AnswerURL[:len(got.AnswerURL)-4] + "AAAA/files/" + plan.ID,
		"no file":               got.AnswerURL + "/files/x",
	} {
		if r := read(url); r.Code != 404 || !strings.Contains(r.Header().Get("Content-Type"), "problem+json") {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
		}
	}
	w.answer(k)
	if r := read(got.Files[0].URL); r.Code != 404 || !strings.Contains(r.Body.String(), "has ended") {
		t.Errorf("after the end: %d %s", r.Code, r.Body)
	}
}
