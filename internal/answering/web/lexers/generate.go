//go:build ignore

// Writes lexers.zip: the lexers that chroma has as XML, its lexer for Go, and an
// index from each name of a language to its file.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

func main() {
	log.SetFlags(0)
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/alecthomas/chroma/v2").Output()
	check(err)
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "lexers/embedded/*.xml"))
	check(err)
	files := map[string][]byte{"go.xml": goLexer()}
	for _, path := range paths {
		files[filepath.Base(path)], err = os.ReadFile(path)
		check(err)
	}
	// A name that two lexers have is that of the one that chroma prefers.
	index := map[string]string{}
	for file, data := range files {
		lexer, err := chroma.Unmarshal(data)
		check(err)
		c := lexer.Config()
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			name = strings.ToLower(name)
			preferred := lexers.Get(name)
			if index[name] == "" || preferred != nil && preferred.Config().Name == c.Name {
				index[name] = file
			}
		}
	}
	files["index.json"], err = json.Marshal(index)
	check(err)

	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate}) // without a time, so that the archive is the same each time
		check(err)
		_, err = f.Write(files[name])
		check(err)
	}
	check(w.Close())
	check(os.WriteFile("lexers.zip", out.Bytes(), 0o644))
}

// goLexer returns chroma's lexer for Go as XML. Templates inside of raw strings
// are left plain: XML cannot say that a lexer is inside of another's strings.
func goLexer() []byte {
	lexer := lexers.Go.(*chroma.RegexLexer)
	rules, err := lexer.Rules()
	check(err)
	for i, rule := range rules["root"] {
		if strings.HasPrefix(rule.Pattern, "(`)") {
			rules["root"][i].Type = chroma.ByGroups(chroma.LiteralString, chroma.LiteralString, chroma.LiteralString)
		}
	}
	plain, err := chroma.NewLexer(lexer.Config(), func() chroma.Rules { return rules })
	check(err)
	data, err := chroma.Marshal(plain)
	check(err)
	return data
}

func check(err error) {
	if err != nil {
		log.Fatal("lexers: ", err)
	}
}
