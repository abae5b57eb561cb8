// Package lexers finds the lexer of a programming language. The lexers are
// chroma's, in an archive from which each is read when a text first needs it:
// chroma's own package of them parses all 280 in each process at its start.
package lexers

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

//go:generate go run generate.go

//go:embed lexers.zip
var archive []byte

// library is the opened archive.
type library struct {
	files fs.FS
	index map[string]string // the file of a language, by each of its names in lower case
	read  sync.Map          // chroma.Lexer by file
}

//nolint:gochecknoglobals // a constant that is made when it is first used
var open = sync.OnceValue(func() *library {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic("lexers: " + err.Error()) // of the program itself
	}
	l := &library{files: files}
	index, err := fs.ReadFile(files, "index.json")
	if err == nil {
		err = json.Unmarshal(index, &l.index)
	}
	if err != nil {
		panic("lexers: " + err.Error())
	}
	return l
})

// Get returns the lexer of a language by one of its names, such as "go", or nil.
func Get(language string) chroma.Lexer {
	l := open()
	file := l.index[strings.ToLower(language)]
	if file == "" {
		return nil
	}
	if lexer, ok := l.read.Load(file); ok {
		return lexer.(chroma.Lexer) //nolint:forcetypeassert,errcheck // it holds nothing else
	}
	lexer := l.load(file, chroma.NewLexerRegistry(), map[string]bool{})
	l.read.Store(file, lexer)
	return lexer
}

//nolint:gochecknoglobals // a constant
var uses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<using lexer="([^"]+)"`) })

// load reads a lexer, and into its registry those that it uses for parts of a
// text, such as CSS in HTML.
func (l *library) load(file string, into *chroma.LexerRegistry, seen map[string]bool) chroma.Lexer {
	seen[file] = true
	data, err := fs.ReadFile(l.files, file)
	if err != nil {
		panic("lexers: " + err.Error())
	}
	lexer, err := chroma.NewXMLLexer(l.files, file)
	if err != nil {
		panic("lexers: " + err.Error())
	}
	into.Register(lexer) // which makes it the lexer's registry
	for _, use := range uses().FindAllSubmatch(data, -1) {
		if used := l.index[strings.ToLower(string(use[1]))]; used != "" && !seen[used] {
			l.load(used, into, seen)
		}
	}
	return lexer
}
