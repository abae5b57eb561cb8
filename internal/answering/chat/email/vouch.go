package email

import (
	"slices"
	"strings"

	"github.com/emersion/go-message"
)

// vouched reports whether the own mail server says that a mail is authentic for the domain of its sender: the topmost
// Authentication-Results with its name says that a DKIM signature of exactly that domain passed.
//
// Header fields are added at the top, so what the sender wrote stands below what the own servers did. Only the topmost
// field with the own name counts, and only above the first Received field that no own server wrote: others can be
// anybody's. The own server has to add one to every mail (RFC 8601, section 5).
func (s *App) vouched(h *message.Header, domain string) bool {
	received := 0
	for f := h.Fields(); f.Next(); {
		switch strings.ToLower(f.Key()) {
		case "received":
			if received++; received > s.opts.Hops {
				return false
			}
		case "authentication-results":
			statements := results(f.Value())
			if name := statements[0]; len(name) > 0 && strings.EqualFold(name[0], s.opts.AuthServ) {
				return slices.ContainsFunc(statements[1:], func(one []string) bool { return signed(one, domain) })
			}
		}
	}
	return false
}

// signed reports whether a statement says that a DKIM signature of a domain passed.
func signed(words []string, domain string) bool {
	if len(words) < 3 || !strings.EqualFold(words[0], "dkim") || words[1] != "=" || !strings.EqualFold(words[2], "pass") {
		return false
	}
	var of []string
	for i := 3; i+2 < len(words); i++ {
		if strings.EqualFold(words[i], "header.d") && words[i+1] == "=" {
			of = append(of, strings.Trim(words[i+2], `"`))
		}
	}
	return len(of) == 1 && domain != "" && strings.EqualFold(of[0], domain)
}

// results splits the value of Authentication-Results into its statements, and those into words and "=". Comments are left
// out. A quoted word keeps its first quote, so that it is never taken for a name.
func results(value string) (statements [][]string) {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\' && (depth > 0 || quoted):
			if i++; i < len(value) && quoted {
				word.WriteByte(value[i])
			}
		case depth > 0:
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
		case quoted:
			if c == '"' {
				quoted = false
				end()
			} else {
				word.WriteByte(c)
			}
		case c == '(':
			end()
			depth++
		case c == '"':
			end()
			quoted = true
			word.WriteByte('"')
		case c == ';':
			end()
			statements, words = append(statements, words), nil
		case c == '=':
			end()
			words = append(words, "=")
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			end()
		default:
			word.WriteByte(c)
		}
	}
	end()
	return append(statements, words)
}
