package httpapi

import (
	"context"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// filesAt returns the session whose files a request is about, in which the caller must pass check. It takes a
// place for a file, until done is called.
func (api *API) filesAt(r *http.Request, c *access.Caller, check access.Check) (at ask.Session, done func(), err error) {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return at, nil, err
	}
	at = ask.Session{Tenant: tenant, Name: c.SessionOf(r, "")}
	if err := check(at.Tenant, at.Name); err != nil {
		return at, nil, err
	}
	done, err = api.access.FilePlace(r.Context(), c)
	return at, done, err
}

// upload stores a file to which asks, or answers, of a session can refer.
func (api *API) upload(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	at, done, err := api.filesAt(r, c, func(tenant, session string) error {
		if c.MayAnswer(tenant, session) {
			return nil
		}
		return c.CheckAsk(tenant, session)
	})
	if err != nil {
		return err
	}
	defer done()
	body, err := api.access.RawBody(w, r)
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("name")
	is, fault := ask.NewFile(name, body)
	if said := mediaType(r, is.MediaType); fault == nil && said != is.MediaType && (is.MediaType != ask.MediaText || !isText(said)) {
		fault = new(ask.NewFault("/media_type", ask.FaultOtherMediaType, ask.Clip(said, 80), is.MediaType))
	}
	if fault != nil {
		return ask.InvalidError("file", []ask.Fault{*fault})
	}
	ctx, cancel := asking.Detached(r.Context())
	defer cancel()
	f, err := api.resp.Upload(ctx, at, is.Name, body)
	if err != nil {
		return err
	}
	data, err := wire.Marshal(f)
	if err != nil {
		return err
	}
	access.SendJSON(w, http.StatusCreated, data)
	return nil
}

// mediaType returns what a request says of its body. What clients send by default says nothing: it is what the bytes are.
func mediaType(r *http.Request, is string) string {
	said, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || said == "application/octet-stream" || said == "application/x-www-form-urlencoded" {
		return is
	}
	return said
}

// isText reports whether what a media type names is written as text: clients take it from a file's name.
func isText(said string) bool {
	return strings.HasPrefix(said, "text/") || said == "application/json" || said == "application/xml" || said == "application/yaml" || said == "application/toml" ||
		said == "application/javascript" || said == "application/sql" || strings.HasSuffix(said, "+json") || strings.HasSuffix(said, "+xml") && !strings.HasPrefix(said, "image/")
}

// file sends a file of a session that the caller may see.
func (api *API) file(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	at, done, err := api.filesAt(r, c, c.CheckSee)
	if err != nil {
		return err
	}
	defer done()
	f, data, err := api.resp.File(r.Context(), at, r.PathValue("id"))
	if err != nil {
		return err
	}
	httpserver.SendFile(w, &f, data)
	return nil
}

// uploadAll stores the files that a request in a dialect holds.
func (api *API) uploadAll(r *http.Request, at ask.Session, files []dialect.Upload) error {
	for _, f := range files {
		ctx, cancel := asking.Detached(r.Context())
		_, err := api.resp.Upload(ctx, at, f.Name, f.Data)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// Bounds of the files that a task holds, as in a result of MCP; an agent reads what does not fit at its address.
const (
	taskFile  = 1 << 20
	taskFiles = 3 << 20
)

// carry returns how a task carries the files of an answer: as bytes as far as they fit, else by the address of the file.
func (api *API) carry(ctx context.Context, c *access.Caller, k ask.Key) dialect.A2AFile {
	left := int64(taskFiles)
	return func(f *ask.File) ([]byte, string) {
		at := api.fileURL(k, f)
		if f.Size > min(taskFile, left) {
			return nil, at
		}
		done, err := api.access.FilePlace(ctx, c)
		if err != nil {
			return nil, at
		}
		defer done()
		_, data, err := api.resp.File(ctx, k.InSession(), f.ID)
		if err != nil {
			api.opts.Logger.WarnContext(ctx, "cannot read a file of an answer", slog.String("ask_id", k.ID), slog.Any("error", err))
			return nil, at
		}
		left -= f.Size
		return data, ""
	}
}

// linked returns how a task carries the files of a question, which is sent again and again: by their addresses.
func (api *API) linked(k ask.Key) dialect.A2AFile {
	return func(f *ask.File) ([]byte, string) { return nil, api.fileURL(k, f) }
}

// fileURL returns where a file is read with a token for its session.
func (api *API) fileURL(k ask.Key, f *ask.File) string {
	q := url.Values{"session": {k.Session}}
	if k.Tenant != ask.DefaultTenant {
		q.Set("tenant", k.Tenant)
	}
	return api.opts.BaseURL + "/v1/files/" + f.ID + "?" + q.Encode()
}
