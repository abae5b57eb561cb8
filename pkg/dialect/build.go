package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// metadataKey is the metadata entry in which an ask carries what its dialect
// needs to answer it: the dialect's name, and strings that did not fit into the
// ask, keyed by question and option position ("0.header", "0.id", "0.2.id").
const metadataKey = "dialect"

// builder builds an ask from a foreign request.
type builder struct {
	*reader
	ask    ask.Ask
	origin map[string]any
	places []place           // the place of each question in the foreign body
	tops   map[string]string // the places of other fields of the ask
	base   string            // the place of all others

	upload  func(Upload) // nil: the request's files are only named
	unshown []string     // names of files that are not shown
	kept    int          // bytes of [builder.rememberShort]
}

// place maps pointers into a native question to the foreign body: at is the
// foreign question, fields renames paths below it, with "#" for an index.
type place struct {
	at     string
	fields map[string]string
}

// asks returns how the requests of a dialect are read. A nil upload means that their files are only named.
func asks(name string, read func(b *builder, v value)) func(body []byte, upload func(Upload)) (ask.Ask, []Warning, error) {
	return func(body []byte, upload func(Upload)) (ask.Ask, []Warning, error) {
		b := &builder{reader: &reader{}, origin: map[string]any{}, tops: make(map[string]string), upload: upload}
		b.as(name)
		v, err := b.parse(body)
		if err != nil {
			return ask.Ask{}, nil, err
		}
		read(b, v)
		return b.finish()
	}
}

// as sets the dialect in which the ask came.
func (b *builder) as(name string) {
	b.what, b.origin["name"] = name+" request", name
}

func (b *builder) add(q ask.Question, p place) {
	b.ask.Questions = append(b.ask.Questions, q)
	b.places = append(b.places, p)
}

// remember stores a foreign string for a place of the ask.
func (b *builder) remember(s string, at ...any) { b.origin[originKey(at...)] = s }

// recall returns what [builder.remember] stored, or the default.
func recall(a *ask.Ask, or string, at ...any) string {
	origin, _ := a.Metadata[metadataKey].(map[string]any)
	if s, ok := origin[originKey(at...)].(string); ok {
		return s
	}
	return or
}

// AskedIn returns the name of the dialect in which an ask came, or "".
func AskedIn(a *ask.Ask) string { return recall(a, "", "name") }

// cameAs reports whether the ask came in the dialect of this name.
func cameAs(a *ask.Ask, name string) bool { return recall(a, "", "name") == name }

func originKey(at ...any) string {
	var parts []string
	for _, part := range at {
		switch part := part.(type) {
		case int:
			parts = append(parts, strconv.Itoa(part))
		case string:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

// meta sets a metadata entry for routing, unless it is empty.
func (b *builder) meta(key, s string) {
	if s == "" {
		return
	}
	if b.ask.Metadata == nil {
		b.ask.Metadata = make(map[string]any)
	}
	b.ask.Metadata[key] = s
}

// session sets the ask's session from a foreign session id, as a token.
func (b *builder) session(foreign string) {
	if foreign == "" {
		return
	}
	b.ask.Session = ask.Token(foreign)
	if b.ask.Session != foreign {
		b.remember(foreign, "session")
	}
}

// named sets the ask's id from the id with which the client itself names it, as a
// token: the same id again is the same ask.
func (b *builder) named(v value) {
	foreign := v.string()
	if foreign == "" {
		return
	}
	b.ask.ID = ask.Token(foreign)
	if b.ask.ID != foreign {
		b.remember(foreign, hostIDKey)
	}
}

// hostIDKey is the key under which an ask remembers how its client names it.
const hostIDKey = "id"

// hostID returns the id with which the client named the ask, else the ask's own.
func hostID(a *ask.Ask) string { return recall(a, a.ID, hostIDKey) }

// callID records the id of a call that only asks, which is then also the ask's,
// as a token.
func (b *builder) callID(foreign string) {
	if foreign == "" {
		return
	}
	b.ask.ID = ask.Token(foreign)
	b.meta(ask.MetadataCall, foreign)
}

// header reads a header and clips one that is too long.
func (b *builder) header(v value, question int) string {
	return b.longHeader(v, question, ask.MaxHeader)
}

// longHeader is header for a shape that allows longer headers: up to its limit
// it clips without a warning.
func (b *builder) longHeader(v value, question, allowed int) string {
	s := v.string()
	if utf8.RuneCountInString(s) <= ask.MaxHeader {
		return s
	}
	short := clipHeader(s)
	b.remember(s, question, "header")
	if utf8.RuneCountInString(s) <= allowed {
		return short
	}
	v.warn("has %d characters; at most %d are shown: \"%s\"", utf8.RuneCountInString(s), ask.MaxHeader, short)
	return short
}

// clipHeader cuts between visible characters, as far as possible without
// tables: never before a mark, a joiner or a skin tone.
func clipHeader(s string) string {
	runes := []rune(s)
	if len(runes) <= ask.MaxHeader {
		return s
	}
	n := ask.MaxHeader - 1
	for n > 1 && (extends(runes[n]) || runes[n-1] == '\u200d') {
		n--
	}
	return strings.TrimRightFunc(string(runes[:n]), unicode.IsSpace) + "…"
}

func extends(r rune) bool {
	return unicode.Is(unicode.M, r) || r == '\u200d' || r >= 0x1F3FB && r <= 0x1F3FF
}

// id keeps a foreign id that is valid here, and maps any other.
func (b *builder) id(v value, at ...any) string {
	s := v.need()
	switch {
	case s == "" && typeName(v.raw) == "string":
		v.fault(ask.FaultEmptyList, "id")
	case !ask.ValidID(s):
		b.remember(s, append(at, "id")...)
		return ask.Token(s)
	}
	return s
}

// finish completes the ask and reports all faults, with pointers into the
// foreign body.
func (b *builder) finish() (ask.Ask, []Warning, error) {
	b.fitContext()
	b.nameFiles()
	b.ask.Normalize()
	complete := b.ask
	complete.ID, complete.Timeout, complete.Deadline = "x", 0, time.Time{} // set or clipped later
	if complete.ExcludeAsker && len(complete.Asker) == 0 {
		complete.Asker = []string{"x"} // set later by the caller
	}
	var invalid *ask.Error
	if err := complete.Validate(time.Time{}); err != nil {
		invalid, _ = err.(*ask.Error) //nolint:errorlint // Validate returns this type, unwrapped
	}
	if invalid != nil {
		read := len(b.faults)
		for _, f := range invalid.Faults {
			if f.Code == ask.FaultNoQuestions && read > 0 && !b.hasQuestions() {
				continue // what was to become them is at fault
			}
			f.Pointer = b.translate(f.Pointer)
			if !b.within(f.Pointer, b.faults[:read]) {
				b.faults = append(b.faults, f)
			}
		}
	}
	if err := b.err(); err != nil {
		return ask.Ask{}, nil, inLanguage(&b.ask, err)
	}
	b.unread(b.root)
	if b.ask.Metadata == nil {
		b.ask.Metadata = make(map[string]any)
	}
	b.ask.Metadata[metadataKey] = b.origin
	return b.ask, b.warnings, nil
}

// hasQuestions reports whether the foreign body itself has a list of questions.
func (b *builder) hasQuestions() bool {
	root, _ := b.root.raw.(*object)
	return b.tops["/questions"] != "" || root != nil && root.values["questions"] != nil
}

// within reports whether a fault at the pointer or at its parent is already
// known: a value that could not be read also looks empty. Items of a list that
// is merely too long were read.
func (r *reader) within(pointer string, known []ask.Fault) bool {
	return slices.ContainsFunc(known, func(f ask.Fault) bool {
		return f.Pointer == pointer || strings.HasPrefix(pointer, f.Pointer+"/") && !slices.Contains(r.counted, f.Pointer)
	})
}

// translate maps a pointer into an ask to one into the foreign body.
func (b *builder) translate(native string) string {
	rest, ok := strings.CutPrefix(native, "/questions/")
	if !ok {
		return cmp.Or(b.tops[native], b.base+native)
	}
	number, rest, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(b.places) {
		return native
	}
	p := b.places[i]
	if rest == "" {
		return p.at
	}
	if at, ok := b.spelled[p.at]; ok && rest == "multiple" {
		return at
	}
	parts := strings.Split(rest, "/")
	index := "#"
	pattern := make([]string, len(parts))
	for j, part := range parts {
		pattern[j] = part
		if _, err := strconv.Atoi(part); err == nil {
			pattern[j], index = "#", part
		}
	}
	for n := len(parts); n > 0; n-- {
		if field, ok := p.fields[strings.Join(pattern[:n], "/")]; ok {
			field = strings.Replace(field, "#", index, 1)
			return strings.TrimSuffix(p.at+"/"+strings.Join(append([]string{field}, parts[n:]...), "/"), "/")
		}
	}
	return p.at + "/" + rest
}
