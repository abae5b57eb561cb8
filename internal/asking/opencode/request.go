package opencode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// request is what the server has pending: a question or a permission.
type request struct {
	ID      string          `json:"id"`
	Session string          `json:"sessionID"`
	Meta    json.RawMessage `json:"metadata"`
	// Of a permission: in the older API the first of each pair.
	Permission string   `json:"permission"`
	Action     string   `json:"action"`
	Patterns   []string `json:"patterns"`
	Resources  []string `json:"resources"`
	Always     []string `json:"always"`
	Save       []string `json:"save"`
	Tool       call     `json:"tool"`
	Source     call     `json:"source"`

	raw    json.RawMessage
	dir    string
	permit bool
	api    bool // of the newer API
}

func (r *request) key() string { return r.Session + "/" + r.ID }

// call is the tool call that a request belongs to.
type call struct {
	Message string `json:"messageID"`
	Call    string `json:"callID"`
}

// at returns the query that names a directory in the older or the newer API.
func at(dir string, api bool) url.Values {
	if api {
		return url.Values{"location[directory]": {dir}}
	}
	return url.Values{"directory": {dir}}
}

// pending returns what the server has pending for one directory. Requests of a session whose turn has ended are left out:
// the older API keeps its permissions for good.
func (s *Server) pending(ctx context.Context, dir string) ([]request, error) {
	var all []request
	absent := 0
	for _, api := range []bool{false, true} {
		prefix, suffix, status := "", "", "/session/status"
		if api {
			prefix, suffix, status = "/api", "/request", "/api/session/active"
		}
		var found []request
		for _, kind := range []string{"/question", "/permission"} {
			var body json.RawMessage
			err := s.get(ctx, prefix+kind+suffix, at(dir, api), &body)
			if errors.Is(err, errAbsent) {
				absent++
				continue
			}
			if err != nil {
				return nil, err
			}
			list, err := data[[]json.RawMessage](body, api)
			if err != nil {
				return nil, err
			}
			for _, raw := range list {
				r := request{raw: raw, dir: dir, permit: kind == "/permission", api: api}
				if json.Unmarshal(raw, &r) == nil && ask.ValidToken(r.ID) && ask.ValidToken(r.Session) {
					found = append(found, r)
				}
			}
		}
		if len(found) == 0 {
			continue
		}
		var body json.RawMessage
		err := s.get(ctx, status, at(dir, api), &body)
		if errors.Is(err, errAbsent) {
			all = append(all, found...)
			continue
		}
		if err != nil {
			return nil, err
		}
		running, err := data[map[string]struct{ Type string }](body, api)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if is := running[r.Session].Type; is != "" && is != "idle" {
				all = append(all, r)
			}
		}
	}
	if absent == 4 {
		return nil, ErrForeign
	}
	return all, nil
}

// data decodes a body, of which the newer API wraps what matters.
func data[T any](body json.RawMessage, wrapped bool) (into T, err error) {
	var outer struct {
		Data json.RawMessage `json:"data"`
	}
	if wrapped {
		if err := json.Unmarshal(body, &outer); err != nil {
			return into, err
		}
		body = outer.Data
	}
	return into, json.Unmarshal(body, &into)
}

// arguments returns the tool call of a request: the tool's name and its input.
func (s *Server) arguments(ctx context.Context, r *request) (tool string, input json.RawMessage, err error) {
	of := cmp.Or(r.Tool, r.Source)
	if of.Message == "" || of.Call == "" {
		return "", nil, nil
	}
	prefix := ""
	if r.api {
		prefix = "/api"
	}
	var body json.RawMessage
	if err := s.get(ctx, prefix+"/session/"+r.Session+"/message/"+url.PathEscape(of.Message), at(r.dir, r.api), &body); err != nil {
		return "", nil, err
	}
	type part struct {
		ID    string `json:"id"`
		Call  string `json:"callID"`
		Tool  string `json:"tool"`
		Name  string `json:"name"`
		State struct {
			Input json.RawMessage `json:"input"`
		} `json:"state"`
	}
	message, err := data[struct {
		Parts   []part `json:"parts"`
		Content []part `json:"content"`
	}](body, r.api)
	if err != nil {
		return "", nil, err
	}
	for _, p := range append(message.Parts, message.Content...) {
		if cmp.Or(p.Call, p.ID) == of.Call {
			return cmp.Or(p.Tool, p.Name), p.State.Input, nil
		}
	}
	return "", nil, nil
}

// asking is a request as an ask, and what its outcome means to opencode.
type asking struct {
	ask     ask.Ask
	dialect dialect.Dialect
	prompt  hostcall.Prompt
}

func (r *request) question() (q asking, err error) {
	q.dialect = dialect.Named("opencode")
	q.ask, _, err = q.dialect.Ask(r.raw)
	q.ask.ID = "" // it is named with the server and its content
	return q, err
}

// permission words a permission. What the tool call says goes before what the request says of it.
func (r *request) permission(tool string, input json.RawMessage, lasting bool, l *lang.Language) (q asking, err error) {
	var meta struct {
		Command string `json:"command"`
		Diff    string `json:"diff"`
	}
	_ = json.Unmarshal(r.Meta, &meta) // what it does not have is not shown
	a := hostcall.Action{Tool: cmp.Or(r.Permission, r.Action), Input: input, Diff: meta.Diff, Dir: r.dir, Place: []string{r.ID, r.Session}}
	if rules := append(r.Always, r.Save...); lasting && len(rules) > 0 {
		a.Grants = []hostcall.Grant{{Rules: rules, Where: hostcall.InProject}}
	}
	edits := a.Tool == "edit" && meta.Diff != ""
	if input == nil || tool != a.Tool && !edits {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // it is shown
		err = e.Encode(struct {
			Command   string          `json:"command,omitempty"`
			For       []string        `json:"for,omitempty"`
			Tool      string          `json:"tool,omitempty"`
			Arguments json.RawMessage `json:"arguments,omitempty"`
			Details   json.RawMessage `json:"details,omitempty"`
		}{meta.Command, append(r.Patterns, r.Resources...), tool, input, r.Meta})
		if err != nil {
			return q, err
		}
		a.Input = b.Bytes()
	}
	q.prompt, err = hostcall.ReadAction(a, l)
	q.ask = q.prompt.Ask
	return q, err
}

// replies returns opencode's words for decisions.
func replies() map[hostcall.Choice]string {
	return map[hostcall.Choice]string{hostcall.Once: "once", hostcall.Granted: "always", hostcall.Refused: "reject", hostcall.Stopped: "reject"}
}

// decide sends what people decided, if that is a decision. It reports whether it was one.
func (s *Server) decide(ctx context.Context, r *request, q *asking, o *ask.Outcome) (decided bool, err error) {
	path, query := "/question/", at(r.dir, false)
	if r.permit {
		path = "/permission/"
	}
	if r.api {
		path, query = "/api/session/"+r.Session+path, nil
	}
	path += r.ID
	switch {
	case r.permit:
		d := q.prompt.Decision(o)
		if d.Choice == hostcall.Undecided {
			return false, nil
		}
		return true, s.post(ctx, path+"/reply", query, struct {
			Reply   string `json:"reply"`
			Message string `json:"message,omitempty"` // without it, a rejection ends the turn
		}{replies()[d.Choice], d.Message})
	case o.Status == ask.StatusCancelled:
		return true, s.post(ctx, path+"/reject", query, nil)
	case o.Status != ask.StatusAnswered || o.Source != ask.SourceHuman:
		return false, nil
	}
	response := q.dialect.Answer(&q.ask, o)
	if response.Status != http.StatusOK {
		return false, nil
	}
	return true, s.post(ctx, path+"/reply", query, json.RawMessage(response.Body))
}
