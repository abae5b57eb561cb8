package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of ListTasks.
const (
	defaultTasks  = 50      // tasks of a page; A2A says so
	maxTasks      = 100     // A2A says so
	maxListed     = 2_000   // asks that the caller may see, and one call reads
	maxRead       = 20_000  // asks that one call reads, also those of others
	maxTasksBytes = 1 << 20 // tasks after which a page ends early
)

// a2aStates are the states of A2A. A task here has five of them.
const a2aStates = "TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED"

// listParams are the parameters of ListTasks. A task here has no history.
type listParams struct {
	Context   string    `json:"contextId"`
	Status    string    `json:"status"`
	Size      *int      `json:"pageSize"`
	Token     string    `json:"pageToken"`
	After     time.Time `json:"statusTimestampAfter"`
	Artifacts bool      `json:"includeArtifacts"`
}

// taskAt is a task and when its status last changed.
type taskAt struct {
	key ask.Key
	at  time.Time
}

// newerTask orders tasks as A2A wants them listed: the last changed first.
func newerTask(a, b taskAt) int {
	return cmp.Or(b.at.Compare(a.at), strings.Compare(a.key.String(), b.key.String()))
}

func (t taskAt) token() string {
	return base64.RawURLEncoding.EncodeToString([]byte(t.at.Format(time.RFC3339Nano) + " " + t.key.String()))
}

func parseTaskToken(token string) (t taskAt, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return t, err
	}
	at, key, _ := strings.Cut(string(text), " ")
	if t.at, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return t, err
	}
	tenant, rest, _ := strings.Cut(key, "/")
	session, id, _ := strings.Cut(rest, "/")
	t.key = ask.Key{Tenant: tenant, Session: session, ID: id}
	return t, t.key.Check()
}

// a2aList returns a page of the tasks that the caller may see. The ledger lists the oldest ask first, so each call reads
// all that could belong to the list, up to [maxListed] and [maxRead].
func (api *API) a2aList(r *http.Request, c *access.Caller, params []byte) (json.RawMessage, error) {
	var p listParams
	if len(params) > 0 {
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, badList("all parameters are optional: contextId, status, pageSize, pageToken, statusTimestampAfter (RFC 3339) and includeArtifacts")
		}
	}
	size := defaultTasks
	if p.Size != nil {
		size = *p.Size
	}
	if size < 1 || size > maxTasks {
		return nil, badList("pageSize is %d; give 1 to %d", size, maxTasks)
	}
	all, err := api.a2aAll(r, c, &p)
	if err != nil {
		return nil, err
	}
	total := len(all)
	if p.Token != "" {
		last, err := parseTaskToken(p.Token)
		if err != nil {
			return nil, badList("pageToken is not the nextPageToken of a page")
		}
		i, found := slices.BinarySearchFunc(all, last, newerTask)
		if found {
			i++
		}
		all = all[i:]
	}
	tasks, bytes, next := []json.RawMessage{}, 0, ""
	for i, t := range all {
		if len(tasks) == size || bytes > maxTasksBytes {
			next = all[i-1].token()
			break
		}
		task, err := api.a2aListed(r.Context(), t, &p)
		if err != nil {
			return nil, err
		}
		if task != nil {
			tasks, bytes = append(tasks, task), bytes+len(task)
		}
	}
	return wire.Marshal(map[string]any{"tasks": tasks, "nextPageToken": next, "pageSize": size, "totalSize": total})
}

// a2aAll returns the tasks of all pages, in order.
func (api *API) a2aAll(r *http.Request, c *access.Caller, p *listParams) ([]taskAt, error) {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return nil, err
	}
	q := responder.Query{Tenant: tenant, PageSize: wire.MaxPage}
	if q.Session, _ = c.Session(); p.Context != "" {
		q.Session = ask.Token(p.Context)
		if err := c.CheckSee(tenant, q.Session); err != nil {
			return nil, err
		}
	}
	switch {
	case p.Status == "" || p.Status == "TASK_STATE_UNSPECIFIED" || p.Status == "UNRECOGNIZED": // what the SDK for JavaScript sends for none
		p.Status = ""
	case !slices.Contains(strings.Split(a2aStates, ", "), p.Status):
		return nil, badList("unknown status %.80q; give one of %s", p.Status, a2aStates)
	case p.Status == dialect.A2AState(nil):
		q.State = ask.StatePending
	default:
		q.State = ask.StateResolved
	}
	sessions := []string{q.Session}
	if named := c.Named(); q.Session == "" && len(named) > 0 {
		sessions = named // what others ask is not read
	}
	all, read, seen := []taskAt(nil), 0, 0
	for _, q.Session = range sessions {
		for rec, err := range api.resp.All(r.Context(), q) {
			if err != nil {
				return nil, err
			}
			see := c.MaySee(tenant, rec.Ask.Session)
			if read++; see {
				seen++
			}
			if seen > maxListed || read > maxRead {
				return nil, badList("there are too many asks to look at; give a contextId, or the status %s", dialect.A2AState(nil))
			}
			if see && p.takes(&rec) {
				all = append(all, taskAt{rec.Ask.Key(), changedAt(&rec)})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return newerTask(all[i], all[j]) < 0 })
	return all, nil
}

// changedAt returns when the status of a task changed.
func changedAt(rec *ask.Record) time.Time {
	if rec.Outcome != nil {
		return rec.Outcome.At.UTC()
	}
	return rec.AskedAt.UTC()
}

func (p *listParams) takes(rec *ask.Record) bool {
	return !changedAt(rec).Before(p.After) && (p.Status == "" || p.Status == dialect.A2AState(rec.Outcome))
}

// a2aListed returns one task of a page, with its files as addresses; nil if it no longer belongs to the list.
func (api *API) a2aListed(ctx context.Context, t taskAt, p *listParams) (json.RawMessage, error) {
	rec, err := api.resp.Get(ctx, t.key)
	if errors.Is(err, ask.ErrNotFound) || err == nil && !p.takes(&rec) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var task struct {
		ID        string                     `json:"id"`
		Context   json.RawMessage            `json:"contextId,omitempty"`
		Status    map[string]json.RawMessage `json:"status"`
		Artifacts []json.RawMessage          `json:"artifacts"`
	}
	if err := json.Unmarshal(dialect.A2ATask(&rec.Ask, rec.Outcome, rec.Waits("", time.Now()), api.linked(t.key)), &task); err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	if task.Status["timestamp"], err = json.Marshal(changedAt(&rec).Format(time.RFC3339)); err != nil {
		return nil, err
	}
	if p.Artifacts {
		task.Artifacts = append([]json.RawMessage{}, task.Artifacts...) // an empty list, not null
		return wire.Marshal(task)
	}
	return wire.Marshal(map[string]any{"id": task.ID, "contextId": task.Context, "status": task.Status})
}

func badList(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParams, Message: "ListTasks: " + fmt.Sprintf(format, args...)}
}
