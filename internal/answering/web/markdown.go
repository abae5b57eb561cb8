package web

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown renders agent text as safe HTML. Two layers protect the page:
// goldmark knows neither raw HTML nor the definitions of references, which are text
// like any other, so that nothing of what the agent wrote is left out, and
// bluemonday allows only the elements named here.
// There are no ids, relative links or images; an image would be a request to a
// host that the agent chooses. Text that is too expensive to render is shown as
// plain text.
type markdown struct {
	parser goldmark.Markdown
	policy *bluemonday.Policy
	cost   parser.ContextKey // of the text being parsed
	kept   *rendered
}

func newMarkdown() *markdown {
	count := counter{costKey()}
	return &markdown{
		parser: goldmark.New(
			goldmark.WithParser(parser.NewParser(
				parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
				parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
			)),
			goldmark.WithExtensions(extension.GFM),
			goldmark.WithParserOptions(
				parser.WithBlockParsers(util.Prioritized(blockCounter{count}, 1)),
				parser.WithInlineParsers(util.Prioritized(inlineCounter{count}, -1)),
				parser.WithParagraphTransformers(util.Prioritized(tableCounter{count}, 1)),
			),
			goldmark.WithRendererOptions(
				html.WithHardWraps(),
				renderer.WithNodeRenderers(util.Prioritized(plainer{}, 10)),
			),
		),
		policy: newPolicy(),
		cost:   count.key,
		kept:   newRendered(max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// without returns the parsers but one.
func without(all []util.PrioritizedValue, one any) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(v util.PrioritizedValue) bool { return v.Value == one })
}

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "strong", "em", "del", "blockquote", "ul", "li",
		"table", "thead", "tbody", "tr", "code", "pre", "span", "div")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("pre")
	p.AllowElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(chroma|heading|language-[a-zA-Z0-9+#.-]{1,32}|[a-z][a-z0-9]{0,3})$`)).
		OnElements("code", "pre", "span", "p")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("mailto")
	for _, scheme := range []string{"http", "https"} {
		// "http:logout" has a scheme but no host: browsers treat it as
		// relative.
		p.AllowURLSchemeWithCustomPolicy(scheme, func(u *url.URL) bool { return u.Host != "" })
	}
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// cutHere marks where a text was cut. [Server.html] replaces it with a message.
const cutHere = `<p class="cut">…</p>`

// html renders text once for all viewers, as long as ctx lasts. It never fails:
// text that cannot be rendered is shown as plain text.
func (m *markdown) html(ctx context.Context, text string) template.HTML {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	cut := template.HTML("")
	if len(text) > maxMarkdown {
		text = text[:maxMarkdown]
		for !utf8.ValidString(text[len(text)-1:]) && len(text) > maxMarkdown-utf8.UTFMax {
			text = text[:len(text)-1]
		}
		cut = cutHere
	}
	text = ask.CleanText(text)
	page, err := m.kept.get(ctx, text, func(ctx context.Context) (template.HTML, error) {
		limited, cancel := context.WithTimeout(ctx, maxRender)
		defer cancel()
		page, err := m.render(limited, text)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err() // the request ended
		case err != nil:
			return asItIs(text), nil
		}
		return page, nil
	})
	if err != nil {
		return asItIs(text) + cut
	}
	return page + cut
}

// diff renders a diff with colours, once for all viewers. One that is too large for them has none.
func (m *markdown) diff(ctx context.Context, text string) template.HTML {
	page, err := m.kept.get(ctx, "diff\x00"+text, func(context.Context) (template.HTML, error) {
		if len(text) > maxCode {
			return asItIs(text), nil
		}
		html := colour("diff", text, time.Now().Add(maxHighlight))
		if html == nil {
			return asItIs(text), nil
		}
		return template.HTML(m.policy.Sanitize(string(html))), nil // sanitised
	})
	if err != nil {
		return asItIs(text)
	}
	return page
}

// asItIs returns text as a plain block.
func asItIs(text string) template.HTML {
	return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") // escaped
}

// render renders text. The error is errHeavy or the context's.
func (m *markdown) render(ctx context.Context, source string) (_ template.HTML, err error) {
	w := &work{ctx: ctx}
	defer func() {
		if r := recover(); r != nil {
			end, ours := r.(stopped)
			if !ours {
				panic(r)
			}
			err = end.error
		}
	}()
	pc := parser.NewContext()
	pc.Set(m.cost, w)
	data := []byte(source)
	doc := m.parser.Parser().Parse(text.NewReader(data), parser.WithContext(pc))
	highlight(doc, data, w)
	var out bytes.Buffer
	if err := m.parser.Renderer().Render(io.MultiWriter(w, &out), data, doc); err != nil {
		return "", err
	}
	w.stop(ctx.Err())
	return template.HTML(m.policy.Sanitize(out.String())), nil // sanitised
}

// plainer overrides how some elements are rendered: headings would break the
// page's outline, images become links, links show their host, and task boxes
// are not interactive.
type plainer struct{}

func (p plainer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, p.heading)
	r.Register(ast.KindImage, p.image)
	r.Register(ast.KindLink, p.link)
	r.Register(ast.KindAutoLink, p.address)
	r.Register(ast.KindFencedCodeBlock, p.code)
	r.Register(extast.KindTaskCheckBox, p.taskBox)
}

func (plainer) heading(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<p class="heading">`)
	} else {
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkContinue, nil
}

func (plainer) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	image, ok := node.(*ast.Image)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<a href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape(image.Destination, true)))
	_, _ = w.WriteString(`">image: `)
	_, _ = w.Write(util.EscapeHTML([]byte(words(image, source))))
	_, _ = w.WriteString("</a>")
	leads(w, string(image.Destination), "")
	titled(w, image.Title)
	return ast.WalkSkipChildren, nil
}

func (plainer) link(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := node.(*ast.Link)
	switch {
	case !ok:
	case entering:
		_, _ = w.WriteString(`<a href="`)
		_, _ = w.Write(util.EscapeHTML(util.URLEscape(link.Destination, true)))
		_, _ = w.WriteString(`">`)
	default:
		_, _ = w.WriteString("</a>")
		leads(w, string(link.Destination), words(link, source))
		titled(w, link.Title)
	}
	return ast.WalkContinue, nil
}

// address renders an autolink. It shows the host if the URL has a user part,
// which can make it look like another host.
func (plainer) address(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := node.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	to, label := link.URL(source), link.Label(source)
	_, _ = w.WriteString(`<a href="`)
	if link.AutoLinkType == ast.AutoLinkEmail {
		_, _ = w.WriteString("mailto:")
	}
	_, _ = w.Write(util.EscapeHTML(util.URLEscape(to, false)))
	_, _ = w.WriteString(`">`)
	_, _ = w.Write(util.EscapeHTML(label))
	_, _ = w.WriteString("</a>")
	if u, err := url.Parse(string(to)); err == nil && u.User != nil {
		leads(w, string(to), "")
	}
	return ast.WalkContinue, nil
}

// leads appends the host of a link, unless its text is the link or the host.
func leads(w util.BufWriter, to, said string) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.User == nil && (said == to || said == u.Hostname()) {
		return
	}
	_, _ = w.WriteString(" (")
	_, _ = w.Write(util.EscapeHTML([]byte(u.Hostname())))
	_, _ = w.WriteString(")")
}

// titled appends the title of a link, which no phone shows otherwise.
func titled(w util.BufWriter, title []byte) {
	if len(title) > 0 {
		_, _ = w.WriteString(" “")
		_, _ = w.Write(util.EscapeHTML(title))
		_, _ = w.WriteString("”")
	}
}

// words returns the text of a link or an image, without formatting.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no error
		if text, ok := n.(*ast.Text); ok && entering {
			b.Write(text.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func (plainer) taskBox(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if box, ok := node.(*extast.TaskCheckBox); ok && entering {
		mark := "☐ "
		if box.IsChecked {
			mark = "☑ "
		}
		_, _ = w.WriteString(mark)
	}
	return ast.WalkContinue, nil
}

// costKey is the key of a document's limits in the parser context. It is
// created once: goldmark counts its keys without a lock.
//
//nolint:gochecknoglobals // a constant that goldmark makes
var costKey = sync.OnceValue(parser.NewContextKey)
