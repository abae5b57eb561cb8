package mcpserver_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func picture(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, 40))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFilesGoBothWays(t *testing.T) {
	t.Parallel()
	shot, named := picture(t, 60), picture(t, 80)
	f := newFixture(t, mcpserver.Options{ReadFile: func(path string) ([]byte, error) {
		if path != "out/shot.png" {
			return nil, errors.New("no such file")
		}
		return named, nil
	}})
	cs := f.connect(nil)
	args := database(map[string]any{"wait_seconds": later, "files": []any{
		map[string]any{"type": "image", "data": base64.StdEncoding.EncodeToString(shot), "mimeType": "image/png", "name": "page.png"},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///work/build.log", "mimeType": "text/plain", "text": "it <b>failed</b>\n"}},
		map[string]any{"path": "out/shot.png"},
	}})
	type answered struct {
		res *mcp.CallToolResult
		err error
	}
	done := make(chan answered, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "AskUserQuestion", Arguments: args})
		done <- answered{res, err}
	}()
	rec := f.screen.Next(board.Pending)
	names := ""
	for _, file := range rec.Ask.Files {
		names += file.Name + " " + file.MediaType + ","
	}
	if want := "page.png image/png,build.log text/plain,shot.png image/png,"; names != want {
		t.Errorf("the ask has %s, want %s", names, want)
	}
	surface, err := responder.New(f.bus.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range rec.Ask.Files {
		if _, data, err := surface.File(t.Context(), rec.Ask.Key().InSession(), file.ID); err != nil || int64(len(data)) != file.Size {
			t.Errorf("%s: %d bytes, %v", file.Name, len(data), err)
		}
	}
	var refs []ask.File
	for _, one := range []struct {
		name string
		data []byte
	}{{"small.png", shot}, {"note.txt", []byte("see line 3")}, {"large.txt", bytes.Repeat([]byte("x"), 100_000)}} {
		ref, err := surface.Upload(t.Context(), rec.Ask.Key().InSession(), one.name, one.data)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	q := rec.Ask.Questions[0]
	if _, err := surface.Answer(t.Context(), rec.Ask.Key(), ask.Reply{
		AnswerID: "a1", By: ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"},
		Answers: []ask.Answer{{QuestionID: q.ID, Selected: []string{"o1"}, Files: refs}},
	}); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil || got.res.IsError || len(got.res.Content) != 3 {
		t.Fatalf("%+v, %v", got.res, got.err)
	}
	if img, ok := got.res.Content[1].(*mcp.ImageContent); !ok || !bytes.Equal(img.Data, shot) || img.MIMEType != ask.MediaPNG {
		t.Errorf("the image is %+v", got.res.Content[1])
	}
	if doc, ok := got.res.Content[2].(*mcp.EmbeddedResource); !ok || doc.Resource.Text != "see line 3" {
		t.Errorf("the text is %+v", got.res.Content[2])
	}
	if text := read(t, got.res).text; !strings.Contains(text, "large.txt (text/plain, id "+refs[2].ID+"); askbus file s1/"+refs[2].ID) {
		t.Errorf("the text is %q", text)
	}
}

func TestFilesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mcpserver.Options{})
	cs := f.connect(nil)
	many := make([]any, 9)
	for i := range many {
		many[i] = map[string]any{"path": "a.png"}
	}
	for name, c := range map[string]struct {
		files any
		says  string
	}{
		"a path, without a directory": {[]any{map[string]any{"path": "/etc/passwd"}}, "/files/0: cannot be read: paths are not read here"},
		"no content":                  {[]any{map[string]any{"type": "image"}}, "/files/0"},
		"bytes of no type":            {[]any{map[string]any{"type": "image", "data": "f0VMRgAA"}}, "/files/0"},
		"too many":                    {many, "/files"},
		"no list":                     {"shot.png", "/files"},
		"of another session":          {[]any{map[string]any{"id": strings.Repeat("ab", 32), "media_type": "image/png", "size": 3}}, "/files/0/id"},
	} {
		r := f.must(cs, "AskUserQuestion", database(map[string]any{"wait_seconds": 0, "files": c.files}))
		if !r.isError || !strings.Contains(r.text, c.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if list := f.must(cs, "ListPendingQuestions", map[string]any{}); !strings.HasPrefix(list.text, "No question") {
		t.Errorf("something was asked: %+v", list)
	}
}
