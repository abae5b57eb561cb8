package web

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/card"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Limits of one text. Some constructs cost quadratic time, and nesting
// multiplies the cost of each line. Text that people write is far below these
// limits.
const (
	maxMarkdown = 64 << 10        // bytes that are parsed; the rest is cut, with a note
	maxMarks    = 1500            // characters that may begin or end inline markup: * _ ~ ` [ ] ! <
	maxScanned  = 2 << 20         // bytes that are searched for the ends of links, code and tags
	maxNesting  = 32              // depth of nested blocks
	maxCells    = 20_000          // cells of a table, whose short rows are filled up
	maxRendered = 16 * 64 << 10   // bytes of HTML: a long address may be referenced often
	maxRender   = 2 * time.Second // for one text
)

// errHeavy means that a text is shown without rendering.
var errHeavy = errors.New("web: this Markdown costs too much to render")

// work counts the cost of rendering one text. It aborts by panicking with
// errHeavy or the context's error, because neither parser nor renderer can be
// stopped in another way. [markdown.render] recovers the panic.
type work struct {
	ctx   context.Context //nolint:containedctx // lives for one rendering
	marks int
	ahead int
	bytes int
}

func (w *work) stop(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// stopped is the value of the panic.
type stopped struct{ error }

// mark counts an inline mark and how far a parser may search for its end.
func (w *work) mark(ahead int) {
	w.ahead += ahead
	if w.marks++; w.marks > maxMarks || w.ahead > maxScanned {
		w.stop(errHeavy)
	}
	if w.marks%64 == 0 {
		w.stop(w.ctx.Err())
	}
}

// Write counts the rendered bytes.
func (w *work) Write(p []byte) (int, error) {
	if w.bytes += len(p); w.bytes > maxRendered {
		w.stop(errHeavy)
	}
	w.stop(w.ctx.Err())
	return len(p), nil
}

// counter is a parser that runs before the others: it counts and leaves the
// input to them.
type counter struct{ key parser.ContextKey }

func (c counter) work(pc parser.Context) *work {
	w, _ := pc.Get(c.key).(*work)
	return w
}

// inlineCounter counts inline marks.
type inlineCounter struct{ counter }

func (inlineCounter) Trigger() []byte { return []byte("*_~`[]!<") }

func (c inlineCounter) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	ahead := 0
	if line, at := block.PeekLine(); len(line) > 0 && parent.Type() == ast.TypeBlock && (line[0] == ']' || line[0] == '<' || line[0] == '`') {
		if lines := parent.Lines(); lines.Len() > 0 {
			ahead = max(0, lines.At(lines.Len()-1).Stop-at.Start)
		}
	}
	c.work(pc).mark(ahead)
	return nil
}

// blockCounter bounds nesting.
type blockCounter struct{ counter }

func (blockCounter) Trigger() []byte { return []byte(">-+*0123456789") }

func (c blockCounter) Open(parent ast.Node, _ text.Reader, pc parser.Context) (ast.Node, parser.State) {
	w := c.work(pc)
	for depth := 0; parent != nil; parent = parent.Parent() {
		if depth++; depth > maxNesting {
			w.stop(errHeavy)
		}
	}
	return nil, parser.NoChildren
}

func (blockCounter) Continue(ast.Node, text.Reader, parser.Context) parser.State { return parser.Close }
func (blockCounter) Close(ast.Node, text.Reader, parser.Context)                 {}
func (blockCounter) CanInterruptParagraph() bool                                 { return true }
func (blockCounter) CanAcceptIndentedLine() bool                                 { return true }

// tableCounter bounds the cells of a possible table. One with a row that has more cells than the first is drawn as it is:
// the table would lack them.
type tableCounter struct{ counter }

func (c tableCounter) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	w, lines, widest := c.work(pc), node.Lines(), 0
	w.stop(w.ctx.Err())
	rows := make([]string, lines.Len())
	for i := range rows {
		segment := lines.At(i)
		rows[i] = string(segment.Value(reader.Source()))
		if i < 1000 { // the row that defines the columns is among the first lines
			widest = max(widest, strings.Count(rows[i], "|")+1)
		}
	}
	if widest > 1 && widest*len(rows) > maxCells {
		w.stop(errHeavy)
	}
	if card.Ragged(rows) {
		code := ast.NewCodeBlock()
		code.SetLines(lines)
		node.Parent().ReplaceChild(node.Parent(), node, code)
	}
}
