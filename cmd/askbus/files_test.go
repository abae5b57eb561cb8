package main

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

func TestAskWithFiles(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	dir := t.TempDir()
	var shot bytes.Buffer
	if err := png.Encode(&shot, image.NewNRGBA(image.Rect(0, 0, 320, 200))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"shot.png": shot.Bytes(), "a.txt": []byte("the first"), "evil.svg": []byte("<svg/>\x00")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	pl.must(3, "ask", "--question", "Does this look right?", "--attach", in("shot.png"), "--id", "look", "--session", "s", "--wait", "0")
	if out, _, _ := pl.run("get", "s/look"); !strings.Contains(out, ask.FileID(shot.Bytes())) || strings.Contains(out, dir) {
		t.Errorf("the ask: %s", out)
	}
	saved := in("saved.png")
	pl.must(0, "file", "s/"+ask.FileID(shot.Bytes()), "--save", saved)
	if data, err := os.ReadFile(saved); err != nil || !bytes.Equal(data, shot.Bytes()) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, out, code := pl.run("ask", "--question", "?", "--attach", in("evil.svg")); code != 2 || !strings.Contains(out, "evil.svg: the bytes are not") {
		t.Errorf("exit %d: %s", code, out)
	}

	// A file of the answer is named in the same words wherever the outcome is printed.
	id := ask.FileID(shot.Bytes())
	answer := `{"answers":[{"question_id":"q1","text":"Yes","files":[{"id":"` + id + `","name":"shot.png","media_type":"image/png","size":` + strconv.Itoa(shot.Len()) + `}]}]}`
	if status, _, said := pl.post("/v1/asks/s/look/answer", answer, pl.token("--role", "responder", "--principal", "oidc:id.example.com#mei")); status != http.StatusOK {
		t.Fatalf("%d: %s", status, said)
	}
	for _, command := range []string{"get", "wait"} {
		if out, _, _ := pl.run(command, "s/look", "--output", "text"); !strings.Contains(out, "\n  file: shot.png (askbus file s/"+id+")\n") {
			t.Errorf("%s: %s", command, out)
		}
	}

	doc := in("ask.json")
	if err := os.WriteFile(doc, []byte(`{"questions":[{"text":"Which?","options":[{"label":"A","file":{"path":"a.txt"}},{"label":"B","file":{"path":"shot.png","name":"b.png"}}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, code := pl.run("ask", "--file", doc, "--wait", "0"); code != 6 || !strings.Contains(out, "/questions/0/options/0/file/path: is unknown") { // not without --attach-from
		t.Errorf("exit %d: %s", code, out)
	}
	pl.must(3, "ask", "--file", doc, "--attach-from", dir, "--id", "which", "--session", "s", "--wait", "0")
	if out, _, _ := pl.run("get", "s/which"); !strings.Contains(out, `"b.png"`) || !strings.Contains(out, `"a.txt"`) {
		t.Errorf("the ask: %s", out)
	}
	if err := os.WriteFile(doc, []byte(`{"files":[{"path":"../../etc/passwd"}],"questions":[{"text":"?"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	pl.must(2, "ask", "--file", doc, "--attach-from", dir)

	// Over HTTP a file may be as large as anywhere, and none is larger.
	agent := pl.token("--session", "s")
	for size, want := range map[int]int{ask.MaxFileBytes: http.StatusCreated, ask.MaxFileBytes + 1: http.StatusRequestEntityTooLarge} {
		if status, _, text := pl.post("/v1/files?name=log.txt", strings.Repeat("a", size), agent); status != want {
			t.Errorf("%d bytes: status %d: %s", size, status, text)
		}
	}
	large := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Right?"},{"raw":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("b"), ask.MaxFileBytes)) + `","filename":"log.txt","mediaType":"text/plain"}]}}`
	if status, _, text := pl.post("/v1/asks?dialect=a2a", large, agent); status != http.StatusAccepted {
		t.Errorf("a body of %d bytes: status %d: %s", len(large), status, text)
	}
}
