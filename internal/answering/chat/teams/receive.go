package teams

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
)

// PathMessages is where Teams delivers activities: the messaging endpoint of the bot.
const PathMessages = "/teams/messages"

// activity is what Teams delivers, as far as it matters here.
type activity struct {
	Type         string    `json:"type"`
	Name         string    `json:"name"`
	Action       string    `json:"action"`
	ID           string    `json:"id"`
	ReplyTo      string    `json:"replyToId"`
	Service      string    `json:"serviceUrl"`
	Channel      string    `json:"channelId"`
	Locale       string    `json:"locale"`
	Text         string    `json:"text"`
	From         account   `json:"from"`
	Recipient    account   `json:"recipient"`
	Removed      []account `json:"membersRemoved"`
	Conversation struct {
		ID     string `json:"id"`
		Kind   string `json:"conversationType"`
		Tenant string `json:"tenantId"`
	} `json:"conversation"`
	Data struct {
		Tenant idOnly `json:"tenant"`
		Team   idOnly `json:"team"`
	} `json:"channelData"`
	Entities []struct {
		Type      string  `json:"type"`
		Text      string  `json:"text"`
		Mentioned account `json:"mentioned"`
	} `json:"entities"`
	Value json.RawMessage `json:"value"`
}

type account struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Object string `json:"aadObjectId"`
	Role   string `json:"role"`
}

type idOnly struct {
	ID string `json:"id"`
}

func (in *activity) place() place { return place{in.Service, in.Conversation.ID, in.ReplyTo} }

func (in *activity) personal() bool { return in.Conversation.Kind == "personal" }

// Handler serves Teams' deliveries. It keeps no state between requests: any replica serves any of them. It refuses a
// request that is not signed by the connector for this app and this service URL, or comes from another directory.
func (s *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathMessages, s.receive)
	return mux
}

func (s *App) receive(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get("Authorization")
	if !strings.HasPrefix(header, "Bearer ") { // before reading the body
		http.Error(w, "no bearer token", http.StatusUnauthorized)
		return
	}
	if !s.busy.Admit(w) {
		return
	}
	defer s.busy.End()
	body, ok := chat.ReadBody(w, r)
	if !ok {
		return
	}
	var in activity
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "the body is not an activity", http.StatusBadRequest)
		return
	}
	if err := s.from.check(r.Context(), header, in.Service, in.Channel); err != nil {
		s.Log.WarnContext(r.Context(), "refused a request that the connector did not sign", slog.String("error", err.Error()))
		s.RefuseRequest(r, ask.CodeUnauthorized, err.Error())
		http.Error(w, "not from the connector", http.StatusUnauthorized)
		return
	}
	tenants := []string{in.Conversation.Tenant, in.Data.Tenant.ID}
	if !slices.ContainsFunc(tenants, func(t string) bool { return t != "" }) || slices.ContainsFunc(tenants, func(t string) bool { return t != "" && !strings.EqualFold(t, s.opts.Directory) }) {
		s.RefuseRequest(r, ask.CodeForbidden, errDirectory.Error())
		http.Error(w, errDirectory.Error(), http.StatusForbidden)
		return
	}
	if p := s.Pairing(); p != nil {
		s.pairs(r.Context(), p, &in)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.Bus == nil { // it was paired, or has no need to be, and the chat runs only then
		http.Error(w, "askbus is being connected", http.StatusServiceUnavailable)
		return
	}
	s.happened(w, r, &in)
}

var (
	errDirectory = errors.New("it is of another directory")
	errAction    = errors.New("not an action of this app")
	errSlow      = errors.New("the store is slow")
)

// happened handles a verified activity.
func (s *App) happened(w http.ResponseWriter, r *http.Request, in *activity) {
	switch {
	case in.Type == "invoke" && in.Name == "adaptiveCard/action":
		s.invoked(w, r, in)
		return
	case in.Type == "invoke":
		w.WriteHeader(http.StatusNotImplemented)
		return
	case in.Type == "message" && len(in.Value) > 0:
		s.after.Do(r.Context(), func(ctx context.Context) {
			s.meet(ctx, in, false)
			if t, fields, ok := readTarget(in.Value); ok {
				told, _ := s.act(ctx, in, t, fields)
				s.notify(ctx, in, told)
			}
		})
	case in.Type == "message":
		s.after.Do(r.Context(), func(ctx context.Context) { s.meet(ctx, in, false); s.wrote(ctx, in) })
	case in.Type == "installationUpdate", in.Type == "conversationUpdate":
		s.after.Do(r.Context(), func(ctx context.Context) { s.meet(ctx, in, true) })
	}
	w.WriteHeader(http.StatusAccepted)
}

// meet notes where the app may write to, or that it no longer may.
func (s *App) meet(ctx context.Context, in *activity, news bool) {
	ref := reference{Service: in.Service, Conversation: base(in.Conversation.ID)}
	of := []string{ref.Conversation}
	switch {
	case in.personal():
		of, ref.Name = []string{strings.ToLower(in.From.Object)}, in.From.Name
	case in.Data.Team.ID != "" && in.Data.Team.ID != ref.Conversation:
		of = append(of, in.Data.Team.ID)
	}
	gone := in.Type == "installationUpdate" && in.Action == "remove" || slices.ContainsFunc(in.Removed, func(a account) bool { return a.ID != "" && a.ID == in.Recipient.ID })
	for _, one := range of {
		switch {
		case one == "":
		case gone:
			s.refs.forget(ctx, one)
		default:
			if one == in.Data.Team.ID {
				ref.Conversation = one
			}
			s.refs.note(ctx, one, ref, news)
		}
	}
}

// invoked answers a press of an Action.Execute in time: with a card, or with words for the person alone.
func (s *App) invoked(w http.ResponseWriter, r *http.Request, in *activity) {
	var v struct {
		Action struct {
			Data json.RawMessage `json:"data"`
		} `json:"action"`
	}
	t, fields, ok := target{}, chat.Fields(nil), json.Unmarshal(in.Value, &v) == nil
	if ok {
		t, fields, ok = readTarget(v.Action.Data)
	}
	if !ok {
		reply(w, http.StatusBadRequest, "application/vnd.microsoft.error", map[string]string{"code": "BadRequest", "message": errAction.Error()})
		return
	}
	l := s.Speaks(in.Locale, nil)
	type answer struct {
		told  string
		shown *sheet
	}
	a, ok := chat.InTime(r.Context(), &s.after, s.opts.AckAfter, func(ctx context.Context) answer {
		s.meet(ctx, in, false)
		told, shown := s.act(ctx, in, t, fields)
		return answer{told, shown}
	}, func(ctx context.Context, a answer) { s.notify(ctx, in, a.told) })
	switch {
	case ok && a.told == "" && a.shown != nil:
		reply(w, http.StatusOK, cardType, a.shown)
	case ok:
		reply(w, http.StatusOK, "application/vnd.microsoft.activity.message", a.told)
	case t.Do == doRefresh:
		reply(w, http.StatusInternalServerError, "application/vnd.microsoft.error", map[string]string{"code": "Timeout", "message": errSlow.Error()})
	default:
		reply(w, http.StatusOK, "application/vnd.microsoft.activity.message", l.Say("Your answer is on its way. The card will show when it is stored."))
	}
}

// reply answers an invoke.
func reply(w http.ResponseWriter, status int, typ string, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"statusCode": status, "type": typ, "value": value})
}

// readTarget reads what an action sent: its target, and the fields beside it. All of it comes from the person's machine.
func readTarget(data json.RawMessage) (t target, fields chat.Fields, ok bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &t) != nil || json.Unmarshal(data, &all) != nil || t.Ref == "" {
		return t, nil, false
	}
	fields = chat.Fields{}
	for name, raw := range all {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw) // a number or a boolean
		}
		fields[name] = text
	}
	return t, fields, true
}
