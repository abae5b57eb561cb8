package fakeslack

import (
	"slices"
	"time"
	"unicode/utf8"
)

// View is a user's open modal or Home tab.
type View struct {
	ID, Hash   string
	Type       string // "modal" or "home"
	User       string
	CallbackID string
	Title      string
	Metadata   string
	Blocks     []Block
	Submit     string
	Close      string
	Root       string // the first view of the stack

	Closed bool
	Errors map[string]string // the app's errors, by block id
}

// trigger opens one view within three seconds of a click.
type trigger struct {
	user string
	at   time.Time
	used bool
}

// triggerLife is how long a trigger is valid.
const triggerLife = 3 * time.Second

// newTrigger makes a trigger; the caller holds the lock.
func (s *Server) newTrigger(user string) string {
	id := s.id("trigger.")
	now := s.opts.Clock.Now()
	for old, t := range s.triggers { // drop expired ones
		if now.Sub(t.at) > time.Minute {
			delete(s.triggers, old)
		}
	}
	s.triggers[id] = &trigger{user: user, at: now}
	return id
}

func (s *Server) useTrigger(id string) (string, error) {
	t, ok := s.triggers[id]
	switch {
	case !ok:
		return "", fail("invalid_trigger_id")
	case t.used:
		return "", fail("exchanged_trigger_id")
	case s.opts.Clock.Now().Sub(t.at) > triggerLife:
		return "", fail("expired_trigger_id")
	}
	t.used = true
	return t.user, nil
}

func (s *Server) viewsOpen(a args) (reply, error) {
	v, err := readView(a, "modal")
	if err != nil {
		return nil, err
	}
	if v.User, err = s.useTrigger(a.text("trigger_id")); err != nil {
		return nil, err
	}
	v.ID, v.Hash = s.id("V"), s.id("hash.")
	v.Root = v.ID
	s.views[v.ID] = v
	return reply{"view": s.viewObject(v)}, nil
}

func (s *Server) viewsUpdate(a args) (reply, error) {
	v, err := readView(a, "modal")
	if err != nil {
		return nil, err
	}
	old, ok := s.views[a.text("view_id")]
	switch {
	case !ok || old.Closed:
		return nil, fail("not_found")
	case a.text("hash") != "" && a.text("hash") != old.Hash:
		return nil, fail("hash_conflict")
	}
	v.ID, v.User, v.Root, v.Hash = old.ID, old.User, old.Root, s.id("hash.")
	s.views[v.ID] = v
	return reply{"view": s.viewObject(v)}, nil
}

func (s *Server) viewsPublish(a args) (reply, error) {
	v, err := readView(a, "home")
	if err != nil {
		return nil, err
	}
	u, ok := s.users[a.text("user_id")]
	switch {
	case !ok || u.Deleted:
		return nil, fail("user_not_found")
	case s.homes[u.ID] != nil && a.text("hash") != "" && a.text("hash") != s.homes[u.ID].Hash:
		return nil, fail("hash_conflict")
	}
	v.ID, v.Hash, v.User = s.id("V"), s.id("hash."), u.ID
	s.homes[u.ID] = v
	return reply{"view": s.viewObject(v)}, nil
}

// viewWire is a view as received.
type viewWire struct {
	Type       string  `json:"type"`
	CallbackID string  `json:"callback_id"`
	Metadata   string  `json:"private_metadata"`
	Title      Block   `json:"title"`
	Submit     Block   `json:"submit"`
	Close      Block   `json:"close"`
	Blocks     []Block `json:"blocks"`
}

func readView(a args, kind string) (*View, error) {
	var w viewWire
	if !a.object("view", &w) {
		return nil, fail("invalid_arguments", "[ERROR] invalid view")
	}
	faults := check(w.Blocks, "view", maxViewBlocks)
	wrong := func(bad bool, what string) {
		if bad {
			faults = append(faults, "[ERROR] "+what)
		}
	}
	wrong(w.Type != kind, "must be a "+kind+" view [json-pointer:/view/type]")
	wrong(utf8.RuneCountInString(w.Metadata) > 3000, "must be less than 3001 characters [json-pointer:/view/private_metadata]")
	wrong(utf8.RuneCountInString(w.CallbackID) > 255, "must be less than 256 characters [json-pointer:/view/callback_id]")
	if kind == "modal" {
		for name, text := range map[string]Block{"title": w.Title, "submit": w.Submit, "close": w.Close} {
			n := utf8.RuneCountInString(textOf(text))
			wrong(n > 24, "must be less than 25 characters [json-pointer:/view/"+name+"]")
			wrong(text != nil && n == 0, "must be more than 0 characters [json-pointer:/view/"+name+"]")
		}
		wrong(w.Title == nil, "missing required field: title [json-pointer:/view]")
		inputs := slices.ContainsFunc(w.Blocks, func(b Block) bool { return b["type"] == "input" })
		wrong(inputs && w.Submit == nil, "missing required field: submit [json-pointer:/view]")
	}
	if len(faults) > 0 {
		return nil, fail("invalid_arguments", faults...)
	}
	name(w.Blocks)
	return &View{
		Type: w.Type, CallbackID: w.CallbackID, Metadata: w.Metadata, Title: textOf(w.Title), Submit: textOf(w.Submit), Close: textOf(w.Close),
		Blocks: w.Blocks,
	}, nil
}

func textOf(o map[string]any) string {
	s, _ := o["text"].(string)
	return s
}

func (s *Server) viewObject(v *View) map[string]any {
	object := map[string]any{
		"id": v.ID, "hash": v.Hash, "type": v.Type, "team_id": s.opts.Team, "app_id": AppID, "bot_id": BotID, "callback_id": v.CallbackID,
		"private_metadata": v.Metadata, "blocks": v.Blocks, "root_view_id": v.Root, "state": map[string]any{"values": map[string]any{}},
	}
	if v.Type == "modal" {
		object["title"] = map[string]any{"type": "plain_text", "text": v.Title}
	}
	return object
}

// Modal returns the user's topmost open modal.
func (s *Server) Modal(user string) (View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var top *View
	for _, v := range s.views {
		if v.User == user && !v.Closed && (top == nil || v.ID > top.ID) {
			top = v
		}
	}
	if top == nil {
		return View{}, false
	}
	return *top, true
}

// Home returns a user's Home tab.
func (s *Server) Home(user string) (View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.homes[user]
	if !ok {
		return View{}, false
	}
	return *v, true
}

// Elements returns all interactive elements of a view.
func (v *View) Elements() []Block { return elements(v.Blocks) }
