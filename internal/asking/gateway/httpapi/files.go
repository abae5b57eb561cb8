package httpapi

import (
	"mime"
	"net/http"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxFiles is how many files one gateway reads or sends at a time: each is in
// memory meanwhile.
const maxFiles = 16

// upload stores a file to which asks, or answers, of a session can refer.
func (api *API) upload(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return err
	}
	at := ask.Session{Tenant: tenant, Name: c.SessionOf(r, "")}
	if !c.MayAnswer(at.Tenant, at.Name) {
		if err := c.CheckAsk(at.Tenant, at.Name); err != nil {
			return err
		}
	}
	done, err := api.fileSlot()
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
	if said := mediaType(r); fault == nil && said != "" && said != is.MediaType {
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

// mediaType returns what a request says of its body; empty if that is nothing in
// particular.
func mediaType(r *http.Request) string {
	said, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || said == "application/octet-stream" || said == "application/x-www-form-urlencoded" { // what clients send by default
		return ""
	}
	return said
}

// file sends a file of a session that the caller may see.
func (api *API) file(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return err
	}
	at := ask.Session{Tenant: tenant, Name: c.SessionOf(r, "")}
	if err := c.CheckSee(at.Tenant, at.Name); err != nil {
		return err
	}
	done, err := api.fileSlot()
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

func (api *API) fileSlot() (done func(), err error) {
	select {
	case api.files <- struct{}{}:
		return func() { <-api.files }, nil
	default:
		return nil, ask.Refusal(ask.CodeUnavailable, ask.FaultTooManyAtOnce, maxFiles, "files", "this_gateway")
	}
}
