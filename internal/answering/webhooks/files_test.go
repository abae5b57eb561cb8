package webhooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// A program reads the files of an ask, and of no other one, until it has ended, and answers with one.
func TestAProgramReadsTheFilesOfAnAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("surfaces:\n" + w.entry("n8n") + "callbacks:\n" + w.entry("builder") + w.entry("other"))
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
	a.Callback = "builder"
	a.Files, a.Questions[0].Options[0].File = []ask.File{plan}, &schema
	w.put(a)
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

	// It answers with a file, which those who are told the outcome read, and nobody else.
	code, ref := w.post(w.apps[0], got.AnswerURL+"/files?name=..%2Fproof.txt", "it works\n")
	if code != 201 || !strings.Contains(ref, `"name":"proof.txt"`) || !strings.Contains(ref, `"media_type":"text/plain"`) {
		t.Fatalf("upload: %d %s", code, ref)
	}
	for text, want := range map[string]int{"\x7fELF\x00": 400, strings.Repeat("a", ask.MaxFileBytes+1): 413} {
		if code, said := w.post(w.apps[0], got.AnswerURL+"/files", text); code != want {
			t.Errorf("%d bytes are uploaded: %d %s", len(text), code, said)
		}
	}
	if code, text := w.post(w.apps[0], got.AnswerURL, `{"answers":[{"question_id":"db","selected":["pg"],"files":[`+ref+`]}]}`); code != 200 {
		t.Fatalf("the answer: %d %s", code, text)
	}
	if r := read(got.Files[0].URL); r.Code != 404 || !strings.Contains(r.Body.String(), "has ended") {
		t.Errorf("after the end: %d %s", r.Code, r.Body)
	}
	if code, _ := w.post(w.apps[0], got.AnswerURL+"/files", "late"); code != 404 {
		t.Errorf("an upload after the end: %d", code)
	}
	var addresses []string
	for range 2 { // the surface, and the agent's callback
		c := w.next()
		var ended struct {
			Status string `json:"status"`
			Files  []struct {
				Name string `json:"name"`
				At   string `json:"at"`
				URL  string `json:"url"`
			} `json:"files"`
		}
		if err := json.Unmarshal(c.Data, &ended); err != nil || len(ended.Files) != 1 || ended.Status != "answered" || ended.Files[0].At != "/answers/0/files/0" {
			t.Fatalf("%v, got %s", err, c.Data)
		}
		at := ended.Files[0].URL
		if r := read(at); r.Code != 200 || r.Body.String() != "it works\n" {
			t.Errorf("%s: %d %s", c.path, r.Code, r.Body)
		}
		folder := at[:strings.LastIndex(at, "/")]
		if r := read(folder + "/" + plan.ID); r.Code != 404 {
			t.Errorf("%s reads a file of the ask: %d", c.path, r.Code)
		}
		if code, _ := w.post(w.apps[0], strings.TrimSuffix(folder, "/files"), `{"decline":true}`); code != 403 {
			t.Errorf("%s answers: %d", c.path, code)
		}
		if code, _ := w.post(w.apps[0], folder, "more"); code != 403 {
			t.Errorf("%s uploads: %d", c.path, code)
		}
		addresses = append(addresses, at)
	}
	if addresses[0] == addresses[1] {
		t.Error("two receivers have one address")
	}

	// Whoever has a secret can sign addresses, and reads with them only what was for them.
	forged := func(kind string) string {
		head, _, _ := strings.Cut(strings.TrimPrefix(addresses[0], "https://bus.example.com"+webhooks.PathAnswer), ".")
		raw, err := base64.RawURLEncoding.DecodeString(head)
		var parts []string
		if err = errors.Join(err, json.Unmarshal(raw, &parts)); err != nil || len(parts) != 6 {
			t.Fatalf("%v, %q", err, raw)
		}
		parts[0], parts[5] = "other", kind
		data, _ := json.Marshal(parts)
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("askbus answer address\x00" + string(data)))
		return webhooks.PathAnswer + base64.RawURLEncoding.EncodeToString(data) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) + addresses[0][strings.LastIndex(addresses[0], "/files/"):]
	}
	for _, kind := range []string{"callback", "a2a"} {
		if r := read(forged(kind)); r.Code != 403 {
			t.Errorf("a callback that the ask does not name, as %s: %d %s", kind, r.Code, r.Body)
		}
	}
	w.pass(8 * 24 * time.Hour)
	if r := read(addresses[0]); r.Code != 404 || !strings.Contains(r.Body.String(), "token") {
		t.Errorf("after a week: %d %s", r.Code, r.Body)
	}
}
