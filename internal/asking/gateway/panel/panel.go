// Package panel is the embeddable panel above another product's chat input: it shows the questions
// of a session over the gateway's WebSocket.
package panel

import (
	"bytes"
	"embed"
	"encoding/json"
	"net/http"
	"path"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

//go:embed static
var static embed.FS

// Panel serves the panel.
type Panel struct {
	Origins []string // origins that may frame it; empty: none
}

// Page serves the panel's page. The path contains a screen's token, because a frame cannot send
// headers.
func (p Panel) Page(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Get("session") == "" && q.Get("sessionId") == "" {
		return ask.Refusal(ask.CodeInvalid, ask.FaultMissingParameter, "?session", "session_to_show")
	}
	if err := c.CheckAnswer(tenant, c.SessionOf(r, "")); err != nil {
		return err
	}
	l := language(r)
	page, err := template.New("embed.html").Funcs(functions(l)).ParseFS(static, "static/embed.html")
	if err != nil {
		return err
	}
	origins, err := json.Marshal(append([]string{}, p.Origins...))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]any{"Origins": string(origins)}); err != nil {
		return err
	}
	ancestors := "'none'"
	if len(p.Origins) > 0 {
		ancestors = strings.Join(p.Origins, " ")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors "+ancestors+"; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // a framing page may require it
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	access.Send(w, http.StatusOK, "text/html; charset=utf-8", out.Bytes())
	return nil
}

// functions returns the template functions of a language.
func functions(l *lang.Language) template.FuncMap {
	return template.FuncMap{"say": l.Say, "language": func() string { return l.Tag }}
}

// language returns the panel's language: the embedding page's ?lang, else the browser's.
func language(r *http.Request) *lang.Language {
	l, _ := lang.Match(r.URL.Query().Get("lang"), r.Header.Get("Accept-Language"))
	return l
}

// Asset serves the panel's files.
func Asset(w http.ResponseWriter, r *http.Request, _ *access.Caller) error {
	name := r.PathValue("name")
	body, err := static.ReadFile("static/" + name)
	kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[path.Ext(name)]
	if err != nil || kind == "" {
		return ask.Refusal(ask.CodeNotFound, ask.FaultUnknownFile)
	}
	access.Send(w, http.StatusOK, kind, body)
	return nil
}
