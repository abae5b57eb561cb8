package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/nats-io/nats.go"
)

// Bounds of push notification configurations.
const (
	maxPushURL   = 1_500              // bytes
	maxPushText  = 200                // bytes of an id and of a token
	pushOutlives = 4 * 24 * time.Hour // how long a configuration is kept after its task's deadline
	cardAge      = 5 * time.Second    // how old the card's knowledge of callbacks may be
)

// callbacks is where A2A clients may be notified: at the addresses that an operator registered
// ("askbus webhook"), and nowhere else.
type callbacks struct {
	names  *state.Bucket
	pushes *state.Bucket
	now    func() time.Time

	mu    sync.Mutex
	known bool // whether there are callbacks, when last looked
	next  time.Time
}

func newCallbacks(nc *nats.Conn, now func() time.Time) *callbacks {
	return &callbacks{names: state.Open(nc, state.Gateway(), state.Callbacks), pushes: state.Open(nc, state.Gateway(), state.TaskPushes), now: now}
}

// any reports whether there are any callbacks. Everybody may cause it, so it asks the bus once in a
// while only.
func (b *callbacks) any(ctx context.Context) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); now.After(b.next) {
		b.next = now.Add(cardAge)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if all, err := b.names.List(ctx); err == nil {
			b.known = len(all) > 0
		}
	}
	return b.known
}

// named returns the name of the callback with a URL, among those for a tenant and an API token, and the
// names of all of these.
func (b *callbacks) named(ctx context.Context, tenant, token, url string) (name string, names []string, err error) {
	all, err := b.names.List(ctx)
	if err != nil {
		return "", nil, err
	}
	for i := range all {
		var cb wire.Callback
		if all[i].Key.Tenant != tenant || json.Unmarshal(all[i].Value, &cb) != nil || !cb.Serves(token) {
			continue
		}
		names = append(names, all[i].Key.Name)
		if cb.Address == wire.CallbackAddress(url) {
			name = all[i].Key.Name
		}
	}
	slices.Sort(names)
	return name, names, nil
}

// pushConfig is a push notification configuration as clients write it.
type pushConfig struct {
	ID             string          `json:"id,omitempty"`
	URL            string          `json:"url"`
	Token          string          `json:"token,omitempty"`
	Authentication json.RawMessage `json:"authentication,omitempty"`
}

// pushParams are the parameters of all methods about them. In version 1.0 the id is the
// configuration's; in 0.3 it is the task's, but not in "set".
type pushParams struct {
	pushConfig

	TaskID   string      `json:"taskId"`
	ConfigID string      `json:"pushNotificationConfigId"`
	Config   *pushConfig `json:"pushNotificationConfig"`
}

// a2aPushVerb returns what a method does with push notification configurations: set, get, list or
// delete; empty: it is another method.
func a2aPushVerb(method string) string {
	switch method {
	case "CreateTaskPushNotificationConfig":
		return "set"
	case "GetTaskPushNotificationConfig":
		return "get"
	case "ListTaskPushNotificationConfigs":
		return "list"
	case "DeleteTaskPushNotificationConfig":
		return "delete"
	}
	switch verb := strings.TrimPrefix(method, "tasks/pushNotificationConfig/"); verb {
	case "set", "get", "list", "delete":
		if verb != method {
			return verb
		}
	}
	return ""
}

// a2aPush handles the methods about push notification configurations.
func (api *API) a2aPush(r *http.Request, c *access.Caller, call *rpcCall, verb string) (json.RawMessage, error) {
	var p pushParams
	if err := json.Unmarshal(call.Params, &p); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "give the id of the task, and of the configuration"}
	}
	task, id, given := p.TaskID, p.ID, &p.pushConfig
	if call.legacy {
		if id = p.ConfigID; task == "" {
			task = p.ID
		}
		given = p.Config
	}
	k, err := a2aKey(r, c, task, c.CheckAsk)
	if err != nil {
		return nil, err
	}
	if verb == "set" {
		return api.setPush(r, c, call, k, given)
	}
	rec, err := api.resp.Get(r.Context(), k)
	if err != nil {
		return nil, err
	}
	if verb == "delete" {
		err := api.callbacks.update(r.Context(), &rec, func(all []wire.TaskPush) ([]wire.TaskPush, error) {
			return slices.DeleteFunc(all, func(p wire.TaskPush) bool { return p.ID == id }), nil
		})
		if err != nil || call.legacy {
			return json.RawMessage("null"), err
		}
		return json.RawMessage("{}"), nil
	}
	all, _, err := api.callbacks.of(r.Context(), &rec)
	if err != nil {
		return nil, err
	}
	if verb == "list" {
		shown := make([]any, 0, len(all))
		for i := range all {
			shown = append(shown, showPush(call, task, &all[i]))
		}
		if call.legacy {
			return wire.Marshal(shown)
		}
		return wire.Marshal(map[string]any{"configs": shown})
	}
	i := slices.IndexFunc(all, func(p wire.TaskPush) bool { return p.ID == id || id == "" && call.legacy })
	if i < 0 {
		return nil, &jsonrpc.Error{Code: a2aNoTask, Message: fmt.Sprintf("the task has no push notification configuration %.200q", id)}
	}
	return wire.Marshal(showPush(call, task, &all[i]))
}

// showPush returns a configuration as its version has it. Nobody is told its token again.
func showPush(call *rpcCall, task string, p *wire.TaskPush) any {
	if call.legacy {
		return map[string]any{"taskId": task, "pushNotificationConfig": pushConfig{ID: p.ID, URL: p.URL}}
	}
	return struct {
		TaskID string `json:"taskId"`
		pushConfig
	}{task, pushConfig{ID: p.ID, URL: p.URL}}
}

func (api *API) setPush(r *http.Request, c *access.Caller, call *rpcCall, k ask.Key, given *pushConfig) (json.RawMessage, error) {
	if given == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "give a pushNotificationConfig with a url"}
	}
	push, err := api.pushFor(r, c, call, given)
	if err != nil {
		return nil, err
	}
	rec, err := api.addPush(r.Context(), k, push)
	if err != nil {
		return nil, err
	}
	if rec.Outcome != nil {
		return nil, &jsonrpc.Error{Code: a2aUnsupported, Message: "the task has ended; use GetTask"}
	}
	return wire.Marshal(showPush(call, k.Session+"/"+k.ID, push))
}

// pushFor checks a configuration: it must name the address of a registered callback.
func (api *API) pushFor(r *http.Request, c *access.Caller, call *rpcCall, given *pushConfig) (*wire.TaskPush, error) {
	refuse := func(format string, args ...any) (*wire.TaskPush, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "push notification configuration: " + fmt.Sprintf(format, args...)}
	}
	visible := func(s string) bool { // fits a header
		return len(s) <= maxPushText && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	switch {
	case given.URL == "" || len(given.URL) > maxPushURL:
		return refuse("url is missing or has more than %d bytes", maxPushURL)
	case !visible(given.ID):
		return refuse("id has more than %d bytes, or other than visible ASCII", maxPushText)
	case !visible(given.Token):
		return refuse("token has more than %d bytes, or other than visible ASCII", maxPushText)
	case len(given.Authentication) > 0 && string(given.Authentication) != "null":
		return refuse("authentication is not supported; leave it out: notifications are signed by Standard Webhooks, and carry the token")
	}
	tenant, err := c.TenantOf(r)
	if err != nil {
		return nil, err
	}
	name, names, err := api.callbacks.named(r.Context(), tenant, c.ID, given.URL)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, &jsonrpc.Error{Code: a2aNoPush, Message: `push notifications are not supported here: no operator registered a callback for this tenant and token ("askbus webhook")`}
	case name == "":
		return refuse("url is not the address of a callback that an operator registered for this tenant and token; registered: %s", strings.Join(names, ", "))
	}
	id := cmp.Or(given.ID, name)
	return &wire.TaskPush{ID: id, Callback: name, URL: given.URL, Token: given.Token, V03: call.legacy}, nil
}

// addPush stores where the end of a task is to be told. The record has an outcome if the task ended
// before that: then perhaps nobody is told.
func (api *API) addPush(ctx context.Context, k ask.Key, push *wire.TaskPush) (ask.Record, error) {
	rec, err := api.resp.Get(ctx, k)
	if err != nil || rec.Outcome != nil {
		return rec, err
	}
	if dialect.AskedIn(&rec.Ask) != "a2a" {
		return rec, &jsonrpc.Error{Code: a2aUnsupported, Message: "only tasks that were asked by A2A have push notifications; name a callback when asking"}
	}
	err = api.callbacks.update(ctx, &rec, func(all []wire.TaskPush) ([]wire.TaskPush, error) {
		all = slices.DeleteFunc(all, func(p wire.TaskPush) bool { return p.ID == push.ID })
		if len(all) >= wire.MaxTaskPushes {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: fmt.Sprintf("the task has %d push notification configurations, the most that one may have; delete one", len(all))}
		}
		return append(all, *push), nil
	})
	if err != nil {
		return rec, err
	}
	return api.resp.Get(ctx, k)
}

// of returns the configurations of an ask, and the revision of their entry; 0: there is none.
func (b *callbacks) of(ctx context.Context, rec *ask.Record) ([]wire.TaskPush, uint64, error) {
	e, err := b.pushes.Get(ctx, state.TaskPushesKey(rec.Ask.Key()))
	if errors.Is(err, ask.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var held wire.TaskPushes
	if json.Unmarshal(e.Value, &held) == nil && held.Life == rec.Life { // else the id was asked again
		return held.Configs, e.Revision, nil
	}
	return nil, e.Revision, nil
}

// maxPushTries is how often a change is made again because another one came between.
const maxPushTries = 8

// update changes the configurations of an ask.
func (b *callbacks) update(ctx context.Context, rec *ask.Record, change func([]wire.TaskPush) ([]wire.TaskPush, error)) error {
	key := state.TaskPushesKey(rec.Ask.Key())
	for range maxPushTries {
		all, revision, err := b.of(ctx, rec)
		if err != nil {
			return err
		}
		had := len(all)
		if all, err = change(all); err != nil {
			return err
		}
		held, ttl := wire.TaskPushes{Life: rec.Life, Configs: all}, max(0, rec.Ask.Deadline.Sub(b.now()))+pushOutlives
		switch {
		case len(all) == 0 && had == 0:
			return nil
		case len(all) == 0:
			err = b.pushes.DeleteRevision(ctx, key, revision)
		case revision == 0:
			_, err = b.pushes.Create(ctx, key, held, ttl)
		default:
			_, err = b.pushes.Update(ctx, key, held, revision, ttl)
		}
		if !errors.Is(err, ask.ErrConflict) {
			return err
		}
	}
	return ask.Refusal(ask.CodeUnavailable, ask.FaultManyChanges)
}
