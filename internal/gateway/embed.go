package gateway

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

//go:embed static
var static embed.FS

// embed is the panel above another product's chat input, for an iframe. The
// token of a screen stands in the path, as a frame cannot send headers.
func (g *Gateway) embed(w http.ResponseWriter, r *http.Request, c *caller) error {
	tenant, err := c.tenantOf(r)
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Get("session") == "" && q.Get("sessionId") == "" {
		return fault("?session is missing; give the session whose questions to show")
	}
	if err := c.mayAnswer(tenant, c.sessionOf(r, "")); err != nil {
		return err
	}
	page, err := template.ParseFS(static, "static/embed.html")
	if err != nil {
		return err
	}
	origins, err := json.Marshal(append([]string{}, g.opts.EmbedOrigins...))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]string{"Origins": string(origins)}); err != nil {
		return err
	}
	ancestors := "'none'"
	if len(g.opts.EmbedOrigins) > 0 {
		ancestors = strings.Join(g.opts.EmbedOrigins, " ")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors "+ancestors+"; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // a page that frames us may demand it
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	send(w, http.StatusOK, "text/html; charset=utf-8", out.Bytes())
	return nil
}

// embedAsset serves what the panel loads.
func embedAsset(w http.ResponseWriter, r *http.Request, _ *caller) error {
	name := r.PathValue("name")
	body, err := static.ReadFile("static/" + name)
	kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[path.Ext(name)]
	if err != nil || kind == "" {
		return ask.Refuse(http.StatusNotFound, ask.CodeNotFound, "there is no such file")
	}
	send(w, http.StatusOK, kind, body)
	return nil
}
