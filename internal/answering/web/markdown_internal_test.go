package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	m := newMarkdown()
	for _, c := range []struct{ name, in, want string }{
		{"emphasis", "**bold**", "<strong>bold</strong>"},
		{"a heading stays out of our outline", "# Big", `<p class="heading">Big</p>`},
		{"a table", "|a|\n|-|\n|b|", "<td>b</td>"},
		{"code has classes, not styles", "```go\nfunc f() {}\n```", `<span class="kd">func</span>`},
		{"an image becomes a link", "![a cat](https://example.com/cat.png)", `image: a cat</a>`},
		{"a task", "- [x] done", "☑ done"},
		{"a link is far away from us", "[x](https://example.com)", `rel="nofollow noreferrer`},
		{"raw HTML is text", "List<String>: cat <file> > out", "<p>List&lt;String&gt;: cat &lt;file&gt; &gt; out</p>"},
		{"a block of HTML is text, with what is in it", "<div>\n<b>all</b> **users**?\n</div>", "<p>&lt;div&gt;<br>\n&lt;b&gt;all&lt;/b&gt; <strong>users</strong>?<br>\n&lt;/div&gt;</p>"},
		{"a comment is text", "<!-- no --> yes", "&lt;!-- no --&gt; yes"},
		{"Chinese", "数据库 **好**", "<strong>好</strong>"},
		{"nothing", " \n", ""},
		{"too long", strings.Repeat("长", maxMarkdown), cutHere},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(m.html(t.Context(), c.in)); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", ask.Clip(got, 400), c.want)
			}
		})
	}
	for in, want := range map[string]string{
		"[https://github.com/acme](https://evil.example/x)":                  "</a> (evil.example)",
		"[**github.com**](https://evil.example)":                             "</a> (evil.example)",
		"[github.com][1]\n\n[1]: https://evil.example/github.com":            "<p>[github.com][1]</p>\n<p>[1]: <a",
		"![github.com](https://evil.example/p.png)":                          "</a> (evil.example)",
		"[the log](https://user:github.com@evil.example:8443/x)":             "</a> (evil.example)",
		"[https://github.com@evil.example](https://github.com@evil.example)": "</a> (evil.example)",
		"<https://github.com@evil.example/x>":                                "</a> (evil.example)",
		"[example.com](https://example.com/a)":                               "example.com</a></p>",
		"https://example.com/a":                                              "https://example.com/a</a></p>",
	} {
		if got := string(m.html(t.Context(), in)); !strings.Contains(got, want) {
			t.Errorf("%s became %s; want %s in it", in, got, want)
		}
	}
	for in, want := range map[string]string{ // nothing is left out
		"[a]: <hidden> \"words\"":           `<p>[a]: &lt;hidden&gt; &#34;words&#34;</p>`,
		"[x](https://x.example \"hidden\")": "</a> (x.example) “hidden”",
		"|a|\n|-|\n|b|hidden|":              "|b|hidden|",
		"a|\n-|\nb|hidden":                  "b|hidden",
		"|a|b|\n|-|-|\n|c|":                 "<td>c</td>",
		"```sh ; hidden\nls\n```":           "<pre>sh ; hidden</pre><pre",
		"~~~./hidden\nls\n~~~":              "<pre>./hidden</pre><pre",
	} {
		if got := string(m.html(t.Context(), in)); !strings.Contains(got, want) {
			t.Errorf("%s became %s; want %s in it", in, got, want)
		}
	}
	for _, in := range []string{"[x](/logout)", "[x](logout)", "[x](javascript:alert(1))", "[x](//evil.example)", "[x](http:logout)", "<http:>"} {
		if got := string(m.html(t.Context(), in)); strings.Contains(got, "href") {
			t.Errorf("%s became %s", in, got)
		}
	}
}

var (
	tagPattern = regexp.MustCompile(`<\s*/?\s*([a-zA-Z0-9]+)([^>]*)>`)
	attribute  = regexp.MustCompile(`([a-zA-Z-]+)="([^"]*)"`)
)

// FuzzMarkdown searches for text that renders to unsafe markup.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"# Title\n\ntext", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
		"![x](http://evil.example/p.png)", "[x](data:text/html,<script>)", "<svg/onload=alert(1)>", "```go\"><script>\nx\n```",
		"| a | b |\n|---|---|\n| <b> | `c` |", "[x]: javascript:alert(1)\n[x]", "<a href=\"java&#x73;cript:x\">", "- [ ] task",
		"<http://example.com>", "<http:>", "[x](https:/logout)", "www.example.com", "a@b.example", "<!-- --><iframe src=//evil>", "\x00<\x00script>", "&lt;script&gt;",
		"![a](x \"y\" onerror=z)", "[a](<javascript:x>)", "~~~<style>\n~~~", "<div id=card>", "[x](https://e.example/\" onclick=\"x)",
	} {
		f.Add(seed)
	}
	m := newMarkdown()
	allowed := map[string]bool{}
	for name := range strings.FieldsSeq("p br hr strong em del blockquote ul ol li table thead tbody tr th td code pre span div a") {
		allowed[name] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := string(m.html(t.Context(), text))
		for _, tag := range tagPattern.FindAllStringSubmatch(out, -1) {
			if !allowed[strings.ToLower(tag[1])] {
				t.Fatalf("%q gave <%s>", text, tag[1])
			}
			for _, a := range attribute.FindAllStringSubmatch(tag[2], -1) {
				switch a[1] {
				case "class", "align", "start", "rel", "target":
				case "tabindex": // of code, which scrolls
					if tag[1] != "pre" || a[2] != "0" {
						t.Fatalf("%q gave <%s tabindex=%s>", text, tag[1], a[2])
					}
				case "href":
					if !regexp.MustCompile(`^(https?://|mailto:)`).MatchString(strings.ToLower(a[2])) {
						t.Fatalf("%q gave href %q", text, a[2])
					}
				default:
					t.Fatalf("%q gave attribute %s", text, a[1])
				}
			}
		}
	})
}
