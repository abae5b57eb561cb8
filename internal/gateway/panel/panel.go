// Package panel is the panel above another product's chat input, for an iframe:
// it shows the questions of a session over a WebSocket of the gateway.
package panel

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/askbus/askbus/internal/gateway/access"
	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/pkg/ask"
)

//go:embed static
var static embed.FS

// Panel serves the panel to pages of these origins.
type Panel struct {
	Origins []string // that may frame it; none: nobody may
}

// Page serves the panel itself. The token of a screen stands in the path, as a
// frame cannot send headers.
func (p Panel) Page(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Get("session") == "" && q.Get("sessionId") == "" {
		return access.Fault("?session is missing; give the session whose questions to show")
	}
	if err := c.CheckAnswer(tenant, c.SessionOf(r, "")); err != nil {
		return err
	}
	l := Language(r)
	page, err := template.New("embed.html").Funcs(template.FuncMap{"say": l.Say, "language": func() string { return l.Tag }}).ParseFS(static, "static/embed.html")
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
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // a page that frames us may demand it
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	access.Send(w, http.StatusOK, "text/html; charset=utf-8", out.Bytes())
	return nil
}

// Language is the language of a panel: what the page around it says with ?lang,
// else what the browser asks for.
func Language(r *http.Request) *lang.Language {
	l, _ := lang.Match(r.URL.Query().Get("lang"), r.Header.Get("Accept-Language"))
	return l
}

// Asset serves what the panel loads.
func Asset(w http.ResponseWriter, r *http.Request, _ *access.Caller) error {
	name := r.PathValue("name")
	body, err := static.ReadFile("static/" + name)
	kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[path.Ext(name)]
	if err != nil || kind == "" {
		return ask.Refuse(ask.CodeNotFound, "there is no such file")
	}
	access.Send(w, http.StatusOK, kind, body)
	return nil
}
