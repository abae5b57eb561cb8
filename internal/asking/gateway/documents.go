package gateway

import (
	_ "embed"
	"encoding/json"
	"io/fs"
	"net/http"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

//go:embed openapi.yaml
var openAPI []byte

//go:embed asyncapi.yaml
var asyncAPI []byte

// document serves a description of the API.
func document(body []byte) access.Handler {
	return func(w http.ResponseWriter, _ *http.Request, _ *access.Caller) error {
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		access.Send(w, http.StatusOK, "application/yaml; charset=utf-8", body)
		return nil
	}
}

// schemas lists the paths of the JSON Schemas.
func schemas(w http.ResponseWriter, _ *http.Request, _ *access.Caller) error {
	files, err := fs.Glob(wire.Schemas(), "*.json")
	if err != nil {
		return err
	}
	list := struct {
		Items []string `json:"items"`
	}{}
	for _, name := range files {
		list.Items = append(list.Items, "/schemas/"+name)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	access.SendJSON(w, http.StatusOK, body)
	return nil
}

// schema serves one of the JSON Schemas of the wire formats.
func schema(w http.ResponseWriter, r *http.Request, _ *access.Caller) error {
	name := r.PathValue("name")
	body, err := fs.ReadFile(wire.Schemas(), name)
	if err != nil {
		return ask.Refusal(ask.CodeNotFound, ask.FaultUnknownSchema, ask.Clip(name, 80))
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	access.Send(w, http.StatusOK, "application/schema+json", body)
	return nil
}
