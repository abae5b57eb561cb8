package web

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	chroma "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// maxMarkdown bounds what is parsed, in bytes; the rest is cut and said so.
const maxMarkdown = 64 << 10

// markdown turns what an agent wrote into harmless HTML. Two walls stand
// between an agent and the page: goldmark drops raw HTML, and bluemonday lets
// only the elements through that are named here. No ids, no relative links, no
// images: an image would be a request to wherever the agent likes.
type markdown struct {
	parser goldmark.Markdown
	policy *bluemonday.Policy
}

func newMarkdown() *markdown {
	return &markdown{
		parser: goldmark.New(
			goldmark.WithExtensions(
				extension.GFM,
				highlighting.NewHighlighting(
					highlighting.WithStyle("github"),
					highlighting.WithFormatOptions(chroma.WithClasses(true)),
				),
			),
			goldmark.WithRendererOptions(
				html.WithHardWraps(),
				renderer.WithNodeRenderers(util.Prioritized(plainer{}, 10)),
			),
		),
		policy: newPolicy(),
	}
}

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "strong", "em", "del", "blockquote", "ul", "li",
		"table", "thead", "tbody", "tr", "code", "pre", "span", "div")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(chroma|heading|language-[a-zA-Z0-9+#.-]{1,32}|[a-z][a-z0-9]{0,3})$`)).
		OnElements("code", "pre", "span", "p")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("mailto")
	for _, scheme := range []string{"http", "https"} {
		// "http:logout" has a scheme and no host: a browser reads it as relative.
		p.AllowURLSchemeWithCustomPolicy(scheme, func(u *url.URL) bool { return u.Host != "" })
	}
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// html renders text. It never fails: what cannot be rendered is shown as it is.
func (m *markdown) html(text string) template.HTML {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	cut := ""
	if len(text) > maxMarkdown {
		text = text[:maxMarkdown]
		for !utf8.ValidString(text[len(text)-1:]) && len(text) > maxMarkdown-utf8.UTFMax {
			text = text[:len(text)-1]
		}
		cut = "<p>… cut here: the rest is too long to show.</p>"
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var out bytes.Buffer
	if err := m.parser.Convert([]byte(text), &out); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(m.policy.Sanitize(out.String()) + cut) //nolint:gosec // sanitised
}

// plainer renders what must not be rendered as usual: headings, which would
// break into the outline of our page, images, which become links, and task
// boxes, which nobody could tick.
type plainer struct{}

func (p plainer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, p.heading)
	r.Register(ast.KindImage, p.image)
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
	for child := image.FirstChild(); child != nil; child = child.NextSibling() {
		if text, ok := child.(*ast.Text); ok {
			_, _ = w.Write(util.EscapeHTML(text.Segment.Value(source)))
		}
	}
	_, _ = w.WriteString("</a>")
	return ast.WalkSkipChildren, nil
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
