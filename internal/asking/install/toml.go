package install

import (
	"errors"
	"regexp"
	"strings"
)

// errTOML says which TOML is left alone.
var errTOML = errors.New("it has mcp_servers in a form that this program does not edit")

// setTOML adds or replaces a table such as [mcp_servers.askbus] with these lines.
func setTOML(text, table string, lines []string) (string, error) {
	start, end, err := findTable(text, table)
	if err != nil {
		return "", err
	}
	block := "[" + table + "]\n" + strings.Join(lines, "\n") + "\n"
	if start < 0 {
		if text = strings.TrimRight(text, "\n"); text != "" {
			text += "\n\n"
		}
		return text + block, nil
	}
	return text[:start] + block + text[end:], nil
}

// removeTOML removes the table and its subtables.
func removeTOML(text, table string) (string, error) {
	start, end, err := findTable(text, table)
	if err != nil || start < 0 {
		return text, err
	}
	before, after := strings.TrimRight(text[:start], "\n"), strings.TrimLeft(text[end:], "\n")
	switch {
	case before != "" && after != "":
		before += "\n\n"
	case before != "":
		before += "\n"
	}
	return before + after, nil
}

// findTable finds the lines of the table and of those below it, up to the last
// one that says something: comments after it belong to what follows. Start is
// -1 when there is no such table.
func findTable(text, table string) (start, end int, err error) {
	parent, name, _ := strings.Cut(table, ".")
	ours := regexp.MustCompile(`^\s*\[\s*` + regexp.QuoteMeta(parent) + `\s*\.\s*["']?` + regexp.QuoteMeta(name) + `["']?\s*(\.[^\]]*)?\]`)
	other := regexp.MustCompile(`^\s*\[`)
	inline := regexp.MustCompile(`^\s*` + regexp.QuoteMeta(parent) + `\s*[.=]`)
	start, end = -1, -1
	at, inside, quoted, top := 0, false, "", true
	for line := range strings.Lines(text) {
		was := quoted
		quoted = multiline(line, quoted)
		switch {
		case was != "":
		case ours.MatchString(line):
			if start >= 0 && !inside {
				return 0, 0, errTOML // duplicate table
			}
			if start < 0 {
				start = at
			}
			inside, top = true, false
		case other.MatchString(line):
			inside, top = false, false
		case top && inline.MatchString(line):
			return 0, 0, errTOML
		}
		at += len(line)
		if said := strings.TrimSpace(line); inside && (was != "" || said != "" && said[0] != '#') {
			end = at
		}
	}
	return start, end, nil
}

// multiline returns the quotes of the multi-line string that is open after this line.
func multiline(line, open string) string {
	for line != "" {
		if open != "" {
			_, rest, ok := strings.Cut(line, open)
			if !ok {
				return open
			}
			open, line = "", rest
			continue
		}
		i, j := strings.Index(line, `"""`), strings.Index(line, `'''`)
		switch {
		case i < 0 && j < 0:
			return ""
		case j < 0 || i >= 0 && i < j:
			open, line = `"""`, line[i+3:]
		default:
			open, line = `'''`, line[j+3:]
		}
	}
	return open
}
