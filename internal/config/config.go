// Package config holds the groups of settings that commands share, and loads
// them: from the environment (ASKBUS_…), over which flags win.
//
// Only cmd imports it: a library is given settings and never reads the
// environment.
package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kelseyhightower/envconfig"
)

// Prefix of every variable.
const Prefix = "ASKBUS"

// Common is what every command knows.
type Common struct {
	Dir    string `desc:"directory of keys, store and context.json; default: askbus in the user's state directory"`
	Tenant string `default:"default" desc:"tenant"`
	Output string `desc:"text or json; default: text on a terminal, else json"`
}

// Reach says how to reach a bus that is not of this directory.
type Reach struct {
	NATS struct {
		URL string `desc:"NATS server; default: that of context.json"`
	}
	HTTP struct {
		URL string `desc:"web inbox; default: that of context.json"`
	}
	Token string `desc:"bearer token for the HTTP doors"`
	Creds string `desc:"credential: user:password, or a file: JSON as \"askbus creds\" prints it, or NATS .creds"`
}

// Ledger is how the ledger is laid out.
type Ledger struct {
	Partitions int           `default:"4" desc:"partitions, fixed when the ledger is created"`
	Replicas   int           `default:"1" desc:"copies of each stream, when the ledger is created: 3 in a cluster"`
	Retention  time.Duration `default:"720h" desc:"how long an outcome is kept after its ask's deadline"`
	Margin     time.Duration `default:"24h" desc:"how much longer an outcome lives than its timer; at least 5s"`
	MaxStore   string        `split_words:"true" default:"10GiB" desc:"bytes on disk; new asks are refused from 80 % on"`
}

// Listen says where a process listens.
type Listen struct {
	NATSAddr string `split_words:"true" default:"127.0.0.1:4280" desc:"NATS address of the embedded server"`
	HTTPAddr string `split_words:"true" default:"127.0.0.1:8420" desc:"address of the web inbox"`
	OpsAddr  string `split_words:"true" default:"127.0.0.1:0" desc:"address of /healthz, /readyz and pprof"`
}

// Web is the web inbox.
type Web struct {
	Groups []string `desc:"groups of the local user, for audiences"`
	Web    struct {
		CookieKey string   `split_words:"true" desc:"key of login cookies, at least 32 characters, the same for every replica; default: derived from the directory's key"`
		Hosts     []string `desc:"host names under which the inbox may be reached, besides loopback"`
	}
}

// Doors are the HTTP and WebSocket doors.
type Doors struct {
	TokensFile   string   `split_words:"true" desc:"file of bearer tokens, as hashes; replicas may share it; default: tokens.json in the directory"`
	CORSOrigins  []string `split_words:"true" desc:"web origins whose pages may call the HTTP doors"`
	EmbedOrigins []string `split_words:"true" desc:"web origins that may frame /embed"`
}

// Log is how much is said.
type Log struct {
	LogLevel  string `split_words:"true" default:"warn" desc:"debug, info, warn or error"`
	LogFormat string `split_words:"true" default:"text" desc:"text or json"`
}

// Load fills a settings struct from the environment.
func Load(into any) error {
	if err := envconfig.Process(Prefix, into); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// Setting is one row of the settings table.
type Setting struct {
	Name        string `json:"name"`
	Default     string `json:"default"`
	Description string `json:"description"`
}

// Settings lists the settings of structs, sorted, each once.
func Settings(structs ...any) []Setting {
	seen := map[string]Setting{}
	for _, s := range structs {
		collect(reflect.TypeOf(s), Prefix, seen)
	}
	rows := make([]Setting, 0, len(seen))
	for _, r := range seen {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

func collect(t reflect.Type, prefix string, seen map[string]Setting) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for f := range t.Fields() {
		name := prefix + "_" + words(f.Name)
		switch {
		case f.Anonymous:
			collect(f.Type, prefix, seen)
		case f.Type.Kind() == reflect.Struct:
			collect(f.Type, name, seen)
		default:
			seen[name] = Setting{name, f.Tag.Get("default"), f.Tag.Get("desc")}
		}
	}
}

// words is a field's name as envconfig's split_words makes it: OpsAddr is
// OPS_ADDR, HTTPAddr is HTTP_ADDR.
func words(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// Unknown names the variables of the environment that start with ASKBUS_ and
// that no command knows: most are misspelt.
func Unknown(structs ...any) []string {
	known := map[string]bool{}
	for _, s := range Settings(structs...) {
		known[s.Name] = true
	}
	var unknown []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, Prefix+"_") && !strings.HasPrefix(name, Prefix+"_TEST_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Bytes reads a size such as "10GiB", "512MB" or "1048576".
func Bytes(s string) (int64, error) {
	number := strings.TrimRightFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || !unicode.IsDigit(rune(number[0])) {
		return 0, fmt.Errorf(`%q is no size; use one such as "10GiB" or "512MB"`, s)
	}
	units := map[string]int64{
		"": 1, "b": 1, "k": 1 << 10, "kb": 1000, "kib": 1 << 10, "m": 1 << 20, "mb": 1e6, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1e9, "gib": 1 << 30, "t": 1 << 40, "tb": 1e12, "tib": 1 << 40,
	}
	unit, ok := units[strings.ToLower(strings.TrimSpace(s[len(number):]))]
	if !ok || n > (1<<62)/unit {
		return 0, fmt.Errorf(`%q is no size; use one such as "10GiB" or "512MB"`, s)
	}
	return n * unit, nil
}
