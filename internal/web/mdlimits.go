package web

import (
	"context"
	"errors"
	"time"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// What one text may cost. Some constructs cost the square of their number, and
// nesting costs each line once more; nothing that a person writes is near this.
const (
	maxMarkdown = 64 << 10        // bytes that are parsed; the rest is cut and said so
	maxMarks    = 1500            // marks that may begin or end something within a line: * _ ~ ` [ ] ! <
	maxScanned  = 2 << 20         // bytes that are looked through for the ends of links, code and tags
	maxNesting  = 32              // blocks within blocks
	maxCells    = 20_000          // of a table, which fills its rows up
	maxRendered = 16 * 64 << 10   // bytes of HTML, for a long address may be referred to often
	maxRender   = 2 * time.Second // whatever it is
)

// errHeavy is the reason for showing a text as it is.
var errHeavy = errors.New("web: this Markdown costs too much to render")

// work counts what rendering one text costs. It stops it by a panic with
// errHeavy or the context's error: neither parser nor renderer can be stopped
// in another way. [markdown.render] recovers it.
type work struct {
	ctx   context.Context //nolint:containedctx // it lives for one rendering
	marks int
	ahead int
	bytes int
}

func (w *work) stop(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// stopped is what work panics with.
type stopped struct{ error }

// mark counts a mark within a line, and how far a parser may look for its end.
func (w *work) mark(ahead int) {
	w.ahead += ahead
	if w.marks++; w.marks > maxMarks || w.ahead > maxScanned {
		w.stop(errHeavy)
	}
	if w.marks%64 == 0 {
		w.stop(w.ctx.Err())
	}
}

// Write counts what is rendered.
func (w *work) Write(p []byte) (int, error) {
	if w.bytes += len(p); w.bytes > maxRendered {
		w.stop(errHeavy)
	}
	w.stop(w.ctx.Err())
	return len(p), nil
}

// counter is asked first wherever a parser would begin something, counts, and
// leaves it to the parser.
type counter struct{ key parser.ContextKey }

func (c counter) work(pc parser.Context) *work {
	w, _ := pc.Get(c.key).(*work)
	return w
}

// inlineCounter counts marks.
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

// tableCounter bounds the cells of what may become a table.
type tableCounter struct{ counter }

func (c tableCounter) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	w, lines, widest := c.work(pc), node.Lines(), 0
	w.stop(w.ctx.Err())
	for i := range min(lines.Len(), 1000) { // the row that says how many columns there are is among the first
		cells := 1
		segment := lines.At(i)
		for _, b := range segment.Value(reader.Source()) {
			if b == '|' {
				cells++
			}
		}
		widest = max(widest, cells)
	}
	if widest > 1 && widest*lines.Len() > maxCells {
		w.stop(errHeavy)
	}
}
