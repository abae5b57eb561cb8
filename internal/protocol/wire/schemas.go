package wire

import (
	"embed"
	"io/fs"
)

//go:embed schemas/*.json
var schemas embed.FS

// Schemas returns the JSON Schemas (2020-12) of everything on the wire:
// ask.json, answer.json, outcome.json and so on. The file name has the $id
// https://askbus.dev/schemas/v1/<name>.
func Schemas() fs.FS {
	sub, err := fs.Sub(schemas, "schemas")
	if err != nil {
		panic(err) // the name is a constant and valid
	}
	return sub
}
