package web

import (
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/lang"
)

//go:embed static templates
var files embed.FS

// assets are the static files. Their URLs contain a hash of all of them, so
// that browsers can cache them forever and never mix versions.
type assets struct {
	hash  string
	files map[string][]byte
	small map[string][]byte // gzip-compressed
}

func loadAssets() (*assets, error) {
	a := &assets{files: make(map[string][]byte), small: make(map[string][]byte)}
	entries, err := files.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("web: read the static files: %w", err)
	}
	sum := sha256.New()
	for _, e := range entries {
		body, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("web: read the static files: %w", err)
		}
		if c := comments(path.Ext(e.Name())); c != nil {
			body = c.ReplaceAll(body, nil)
		}
		a.files[e.Name()] = body
		if path.Ext(e.Name()) != ".png" {
			a.small[e.Name()] = gzipped(body, gzip.BestCompression)
		}
		fmt.Fprintf(sum, "%s %d\n", e.Name(), len(body))
		sum.Write(body)
	}
	a.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return a, nil
}

// comments matches what browsers do not need of a kind of file: comments and indentation, which are an eighth of a first
// load. Scripts are read line by line: a comment with a quotation mark that follows code stays. It returns nil for other files.
func comments(ext string) *regexp.Regexp {
	switch ext {
	case ".css":
		return regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:^\s+)`)
	case ".js":
		return regexp.MustCompile("(?m)^[ \t]*//.*\n|^[ \t]+|[ \t]+// [^'\"`\n]*$") // no text in a script has several lines
	}
	return nil
}

func (a *assets) path(name string) string { return "/static/" + a.hash + "/" + name }

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, ok := a.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	switch path.Ext(name) {
	case ".css":
		h.Set("Content-Type", "text/css; charset=utf-8")
	case ".js":
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	case ".svg":
		h.Set("Content-Type", "image/svg+xml")
	case ".png":
		h.Set("Content-Type", "image/png")
	}
	if r.PathValue("hash") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Vary", "Accept-Encoding")
	if small, has := a.small[name]; has && accepts(r) {
		h.Set("Content-Encoding", "gzip")
		body = small
	}
	_, _ = w.Write(body)
}

// parseTemplates parses the templates once per language, by tag.
func parseTemplates(a *assets) (map[string]*template.Template, error) {
	scripts := a.scripts()
	all := map[string]*template.Template{}
	for _, l := range lang.All() {
		t, err := template.New("").Funcs(localized{l}.functions(a, scripts)).ParseFS(files, "templates/*.html")
		if err != nil {
			return nil, fmt.Errorf("web: parse the templates: %w", err)
		}
		all[l.Tag] = t
	}
	return all, nil
}
