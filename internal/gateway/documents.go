package gateway

import (
	_ "embed"
	"io/fs"
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
)

//go:embed openapi.yaml
var openAPI []byte

//go:embed asyncapi.yaml
var asyncAPI []byte

// document serves a description of the doors.
func document(body []byte) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ *caller) error {
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		send(w, http.StatusOK, "application/yaml; charset=utf-8", body)
		return nil
	}
}

// schema serves one of the JSON Schemas of the wire formats.
func (g *Gateway) schema(w http.ResponseWriter, r *http.Request, _ *caller) error {
	if g.opts.Schemas != nil && fs.ValidPath(r.PathValue("name")) {
		if body, err := fs.ReadFile(g.opts.Schemas, r.PathValue("name")); err == nil {
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
			send(w, http.StatusOK, "application/schema+json", body)
			return nil
		}
	}
	return ask.Refuse(http.StatusNotFound, ask.CodeNotFound, "there is no schema %s", quote(r.PathValue("name")))
}
