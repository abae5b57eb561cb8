package email

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/emersion/go-message"
	"golang.org/x/net/html"
)

// maxWords bounds the words of a reply, in bytes.
const maxWords = 64 << 10

// maxParts bounds the parts of a mail that are looked at.
const maxParts = 20

// textOf returns the text of a mail: its first part in plain text, else its first in HTML, as text.
func textOf(e *message.Entity) string {
	plain, marked, n := "", "", 0
	var walk func(e *message.Entity)
	walk = func(e *message.Entity) {
		if n++; n > maxParts {
			return
		}
		if parts := e.MultipartReader(); parts != nil {
			for {
				part, err := parts.NextPart()
				if err != nil && !message.IsUnknownCharset(err) || part == nil {
					return
				}
				walk(part)
			}
		}
		kind, _, _ := e.Header.ContentType()
		if disposition, _, _ := e.Header.ContentDisposition(); disposition == "attachment" {
			return
		}
		switch {
		case plain == "" && (kind == "text/plain" || kind == ""):
			plain = read(e.Body)
		case marked == "" && kind == "text/html":
			marked = read(e.Body)
		}
	}
	walk(e)
	if strings.TrimSpace(plain) != "" {
		return plain
	}
	return unmarked(marked)
}

func read(r io.Reader) string {
	data, err := io.ReadAll(io.LimitReader(r, maxMail))
	if err != nil {
		return ""
	}
	return ask.CleanText(strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n", "\n"))
}

// unmarked returns the text of a mail in HTML down to its first quote.
func unmarked(page string) string {
	var b strings.Builder
	for z, hidden := html.NewTokenizer(strings.NewReader(page)), ""; ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				return ""
			}
			return b.String()
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			t := z.Token()
			switch t.Data {
			case "blockquote":
				return b.String()
			case "head", "style", "script", "title":
				if hidden = ""; kind == html.StartTagToken {
					hidden = t.Data
				}
			case "br", "p", "div", "tr", "li":
				b.WriteString("\n")
			}
			for _, a := range t.Attr {
				if (a.Key == "class" || a.Key == "id") && quotes().MatchString(a.Val) {
					return b.String()
				}
			}
		case html.TextToken:
			if hidden == "" {
				b.WriteString(strings.Join(strings.Fields(strings.ReplaceAll(string(z.Text()), "\n", " ")), " "))
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

//nolint:gochecknoglobals // compiled once, never changed
var (
	// quotes are the names of what programs put around a quote.
	quotes = compiled(`(?i)gmail_quote|divRplyFwdMsg|appendonsend|moz-cite-prefix|yahoo_quoted|protonmail_quote|mail-quote`)
	// original begins a quote that has no other mark.
	original = compiled(`^\s*(-{2,}\s*(Original Message|Ursprüngliche Nachricht|原始邮件|原始郵件)\s*-{2,}|_{20,}|-{2} .*(above this line|此行上方).* -{2})\s*$`)
	// headed is the first line of the headers that some programs copy above a quote.
	headed = compiled(`^\s*\*?(From|Von|De|发件人|寄件者)\s?[:：]`)
	dated  = compiled(`^\s*\*?(Sent|Date|To|Subject|Gesendet|Datum|An|发送时间|收件人|日期|主题)\s?[:：]`)
	// sent is what telephones add.
	sent = compiled(`(?i)^\s*(sent from my |sent from outlook|get outlook for |von meinem .* gesendet|发自我的|從我的)`)
)

// above returns the words of a reply that stand above what it quotes, without a signature.
func above(text string) string {
	lines := strings.Split(text, "\n")
	end := len(lines)
	quoted := false
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, ">"), original().MatchString(line):
			end, quoted = i, true
		case headed().MatchString(line) && i+1 < len(lines) && dated().MatchString(lines[i+1]):
			end, quoted = i, true
		case line == "-- " || bare == "--", sent().MatchString(line):
			end = i
		default:
			continue
		}
		break
	}
	kept := lines[:end]
	trim := func() {
		for len(kept) > 0 && strings.TrimSpace(kept[len(kept)-1]) == "" {
			kept = kept[:len(kept)-1]
		}
	}
	trim()
	// Programs begin a quote with "On …, … wrote:", in one line or two.
	if last := len(kept) - 1; quoted && last >= 0 && attribution().MatchString(strings.TrimSpace(kept[last])) {
		kept = kept[:last]
		if last > 0 && started().MatchString(kept[last-1]) {
			kept = kept[:last-1]
		}
		trim()
	}
	words := strings.TrimSpace(strings.Join(kept, "\n"))
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "")
	}
	return words
}

//nolint:gochecknoglobals // compiled once, never changed
var (
	attribution = compiled(`[:：]$`)
	started     = compiled(`^\s*(On|Am|Le|El|在|于) .*`)
)

// compiled compiles a pattern when it is first used: most commands of the program use none.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
