package webhooks

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/pkg/ask"
)

// maxEntries bounds a file.
const maxEntries = 500

// Entry is one address of the operator's file.
type Entry struct {
	Name         string                       `json:"name"`
	Tenant       string                       `json:"tenant"`        // whose asks; default "default"
	Tokens       []string                     `json:"tokens"`        // callbacks: ids of the API tokens that may name it; none: all of the tenant may
	URL          string                       `json:"url"`           // https; http only with AllowPrivate
	SecretFile   string                       `json:"secret_file"`   // relative to the file's directory
	AllowPrivate bool                         `json:"allow_private"` // the address may be of this machine or network
	Format       string                       `json:"format"`        // surfaces: ntfy; default: webhooks of ours
	Language     string                       `json:"language"`      // ntfy: of the words, such as "zh"; default English
	TokenFile    string                       `json:"token_file"`    // ntfy: with an access token, if the topic needs one
	token        *file.Live[string]           // nil: none
	secrets      *file.Live[[]webhook.Secret] // read again when it changes
}

// endpoint returns where and with which secrets to send.
func (e *Entry) endpoint() *webhook.Endpoint {
	return &webhook.Endpoint{URL: e.URL, Secrets: e.secrets.Content(), AllowPrivate: e.AllowPrivate}
}

// by is who answers at a surface.
func (e *Entry) by() ask.By {
	return ask.By{Principal: "webhook:" + e.Name, Name: e.Name, Proof: ask.ProofWebhook}
}

// File is the operator's file.
type File struct {
	Callbacks []Entry `json:"callbacks"` // agents name one of them in an ask
	Surfaces  []Entry `json:"surfaces"`  // programs that get every ask of a tenant
}

// ParseFile parses a file in YAML or JSON, whose secret files are relative to dir. Its error lists
// every fault with the entry and the field.
func ParseFile(data []byte, dir string, log *slog.Logger) (*File, error) {
	var f File
	if err := file.DecodeYAML(data, &f); err != nil {
		return nil, err
	}
	if n := len(f.Callbacks) + len(f.Surfaces); n > maxEntries {
		return nil, fmt.Errorf("%d entries; at most %d are allowed", n, maxEntries)
	}
	var faults []error
	for list, entries := range map[string][]Entry{"callbacks": f.Callbacks, "surfaces": f.Surfaces} {
		seen := map[string]bool{}
		for i := range entries {
			e := &entries[i]
			at := fmt.Sprintf("%s[%d]", list, i)
			fault := func(field, format string, args ...any) {
				faults = append(faults, fmt.Errorf("%s.%s: %s", at, field, fmt.Sprintf(format, args...)))
			}
			e.Tenant = cmp.Or(e.Tenant, ask.DefaultTenant)
			if !ask.ValidToken(e.Tenant) {
				fault("tenant", "is %.80q; use 1 to %d of A-Z a-z 0-9 _ -", e.Tenant, ask.MaxToken)
			}
			switch {
			case !ask.ValidToken(e.Name):
				fault("name", "is %.80q; use 1 to %d of A-Z a-z 0-9 _ -", e.Name, ask.MaxToken)
			case seen[e.Tenant+"/"+e.Name]:
				fault("name", "%q is the name of another entry of tenant %s", e.Name, e.Tenant)
			}
			seen[e.Tenant+"/"+e.Name] = true
			if err := webhook.CheckURL(e.URL); err != nil {
				fault("url", "%v", err)
			} else if !strings.HasPrefix(e.URL, "https:") && !e.AllowPrivate {
				fault("url", "must begin with https, because answers travel there; http is only for addresses of your own network, with allow_private")
			}
			if list == "surfaces" && len(e.Tokens) > 0 {
				fault("tokens", "is only for callbacks")
			}
			faultsOfFormat(e, list, fault)
			if e.TokenFile != "" && e.Format == formatNtfy {
				var err error
				if e.token, err = file.OpenLive(from(dir, e.TokenFile), parseToken, log); err != nil {
					fault("token_file", "%v", err)
				}
			}
			if slices.ContainsFunc(e.Tokens, func(id string) bool { return !ask.ValidToken(id) }) {
				fault("tokens", `needs ids of API tokens, as "askbus token list" prints them`)
			}
			if e.SecretFile == "" {
				fault("secret_file", "is missing; name a file with a secret, which the receiver has too")
				continue
			}
			var err error
			if e.secrets, err = file.OpenLive(from(dir, e.SecretFile), webhook.ParseSecrets, log); err != nil {
				fault("secret_file", "%v", err)
			}
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return &f, errors.Join(faults...)
}

// faultsOfFormat finds what is wrong with the format of an entry, and with what only one format has.
func faultsOfFormat(e *Entry, list string, fault func(field, format string, args ...any)) {
	switch {
	case e.Format == "" && e.Language != "":
		fault("language", "is only for the format ntfy")
	case e.Format == "" && e.TokenFile != "":
		fault("token_file", "is only for the format ntfy")
	case e.Format == "":
	case e.Format != formatNtfy || list != "surfaces":
		fault("format", "is %.80q; surfaces may have ntfy, and callbacks none", e.Format)
	default:
		if _, _, err := topic(e.URL); err != nil {
			fault("url", "%v", err)
		}
	}
}

// from returns a path that is relative to a folder.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// entry returns the entry of a delivery, or nil.
func (f *File) entry(k kind, tenant, name string) *Entry {
	all := f.Surfaces
	if k == callback || k == push {
		all = f.Callbacks
	}
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Tenant == tenant && e.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}
