package web

import (
	"bytes"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	formatter "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/askbus/askbus/internal/answering/web/lexers"
	"github.com/askbus/askbus/pkg/card"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// Limits of highlighting in one text. Lexers are backtracking regular
// expressions; code beyond the limits is shown without colours.
const (
	maxCode      = 16 << 10               // bytes of code in total
	maxTokens    = 8_000                  // tokens in total
	maxBrackets  = 64                     // open brackets
	maxHighlight = 100 * time.Millisecond // in total; one match of a lexer ends after 250 ms by itself
)

// coloured is the attribute that holds a code block's highlighted HTML.
const coloured = "askbus-coloured"

// highlight colours the code blocks of a text within the limits.
func highlight(doc ast.Node, source []byte, w *work) {
	left, until := maxCode, time.Now().Add(maxHighlight)
	_ = ast.Walk(doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no error
		block, ok := node.(*ast.FencedCodeBlock)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		w.stop(w.ctx.Err())
		code := block.Lines().Value(source)
		if left -= len(code); left < 0 || time.Now().After(until) || tooNested(code) {
			return ast.WalkSkipChildren, nil
		}
		if html := colour(string(block.Language(source)), string(code), until); html != nil {
			block.SetAttributeString(coloured, html)
		}
		return ast.WalkSkipChildren, nil
	})
}

// tooNested reports whether more brackets are open than in real code. It also
// counts brackets in strings and comments, because the code is not lexed yet.
func tooNested(code []byte) bool {
	depth := 0
	for _, b := range code {
		switch b {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxBrackets {
			return true
		}
	}
	return false
}

// colour returns code as highlighted HTML, or nil if the language is unknown or
// the limits are exceeded.
func colour(language, code string, until time.Time) []byte {
	lexer := lexers.Get(language)
	if language == "" || lexer == nil {
		return nil
	}
	next, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return nil
	}
	var tokens []chroma.Token
	for token := next(); token != chroma.EOF; token = next() {
		if tokens = append(tokens, token); len(tokens) > maxTokens || time.Now().After(until) {
			return nil
		}
	}
	var out bytes.Buffer
	// The formatter wants a style and does not use it: the tokens get classes, and
	// the style sheet has their colours. Importing chroma's styles would make every
	// command parse seventy of them at its start.
	unstyled := chroma.MustNewStyle("unstyled", nil)
	if err := formatter.New(formatter.WithClasses(true)).Format(&out, unstyled, chroma.Literator(tokens...)); err != nil {
		return nil
	}
	return bytes.Replace(out.Bytes(), []byte("<pre "), []byte("<pre "+focusable+" "), 1)
}

// focusable is an attribute of elements that scroll and must be reachable by
// keyboard.
const focusable = `tabindex="0"`

// code renders a code block, highlighted if possible. What is beside the language of its fence is above it.
func (plainer) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := node.(*ast.FencedCodeBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	if block.Info != nil {
		if _, words := card.Info(string(block.Info.Value(source))); words != "" {
			_, _ = w.WriteString("<pre>")
			_, _ = w.Write(util.EscapeHTML([]byte(words)))
			_, _ = w.WriteString("</pre>")
		}
	}
	if html, given := block.AttributeString(coloured); given {
		if data, ok := html.([]byte); ok {
			_, _ = w.Write(data)
			return ast.WalkSkipChildren, nil
		}
	}
	_, _ = w.WriteString("<pre " + focusable + "><code") // it scrolls on small screens, and the keyboard must reach it
	if language := string(block.Language(source)); language != "" {
		_, _ = w.WriteString(` class="language-`)
		_, _ = w.Write(util.EscapeHTML([]byte(strings.ToValidUTF8(language, ""))))
		_ = w.WriteByte('"')
	}
	_ = w.WriteByte('>')
	_, _ = w.Write(util.EscapeHTML(block.Lines().Value(source)))
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}
