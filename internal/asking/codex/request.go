package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// approval has the parameters of every request that people approve.
type approval struct {
	Thread     string          `json:"threadId"`
	OldThread  string          `json:"conversationId"`
	Turn       string          `json:"turnId"`
	Item       string          `json:"itemId"`
	Call       string          `json:"callId"`     // instead of Item, of the older methods
	Approval   string          `json:"approvalId"` // one of several of an item
	Kind       string          `json:"kind"`
	Command    json.RawMessage `json:"command"` // a text; of the older method its words
	Dir        string          `json:"cwd"`
	Reason     string          `json:"reason"`
	Root       string          `json:"grantRoot"`
	Network    json.RawMessage `json:"networkApprovalContext"`
	Rule       []string        `json:"proposedExecpolicyAmendment"`
	Hosts      []host          `json:"proposedNetworkPolicyAmendments"`
	Wanted     json.RawMessage `json:"permissions"`
	Decisions  []decision      `json:"availableDecisions"` // none: all
	OldChanges map[string]struct {
		Type    string `json:"type"`
		Content string `json:"content"`
		Diff    string `json:"unified_diff"`
	} `json:"fileChanges"`

	// Of MCP servers' forms.
	Mode   string `json:"mode"`
	Server string `json:"serverName"`
	Meta   struct {
		Kind      string          `json:"codex_approval_kind"`
		Tool      string          `json:"tool_name"`
		Arguments json.RawMessage `json:"tool_params"`
		Notes     struct {
			Destructive bool `json:"destructiveHint"`
		} `json:"tool_annotations"`
		Persist words `json:"persist"`
	} `json:"_meta"`
}

type host struct {
	Host   string `json:"host"`
	Action string `json:"action"`
}

// decision is a word, or an object whose only member is the word.
type decision struct {
	word string
	raw  json.RawMessage
}

func (d *decision) UnmarshalJSON(raw []byte) error {
	d.raw = bytes.Clone(raw)
	if d.word = relay.Word(raw); d.word != "" {
		return nil
	}
	members, _ := relay.Object(raw)
	for d.word = range members {
		break
	}
	return nil
}

// words is a text or a list of them.
type words []string

func (w *words) UnmarshalJSON(raw []byte) error {
	if one := relay.Word(raw); one != "" {
		*w = words{one}
		return nil
	}
	_ = json.Unmarshal(raw, (*[]string)(w)) // anything else: none
	return nil
}

// offers reports whether the server takes a decision.
func (a *approval) offers(word string) bool {
	return len(a.Decisions) == 0 || slices.ContainsFunc(a.Decisions, func(d decision) bool { return d.word == word })
}

// permit is an action that people permit, and what their decision is to the server.
type permit struct {
	hostcall.Action
	once, refused, stopped any   // the results
	grants                 []any // of Action.Grants
	destructive            bool
}

// grant adds what a person may permit beyond the action.
func (p *permit) grant(where hostcall.Where, result any, rules ...string) {
	p.Grants, p.grants = append(p.Grants, hostcall.Grant{Rules: rules, Where: where}), append(p.grants, result)
}

// The words of decisions, in the shapes of their responses.
type (
	decided struct {
		Decision any `json:"decision"`
	}
	formed struct {
		Action  string    `json:"action"`
		Content *struct{} `json:"content"`
		Meta    any       `json:"_meta"`
	}
	persisting struct {
		Persist string `json:"persist"`
	}
	granted struct {
		Permissions json.RawMessage `json:"permissions"`
		Scope       string          `json:"scope"`
	}
)

// question makes the question of a request, or nil of one that is only the client's.
func (p *Protocol) question(m *relay.Message) *relay.Question {
	var a approval
	if json.Unmarshal(m.Params, &a) != nil {
		return nil
	}
	a.Thread, a.Item = cmp.Or(a.Thread, a.OldThread), cmp.Or(a.Item, a.Call)
	dir, _ := p.threads.Get(a.Thread)
	a.Dir = cmp.Or(a.Dir, dir)
	q := &relay.Question{ID: m.ID, Session: a.Thread, Shown: true, Withdrawn: func(bool) []byte { return nil }}
	var err error
	switch m.Method {
	case methodInput:
		input(q, m.Params)
	case methodForm:
		if a.Mode != "form" {
			return nil
		}
		if a.Meta.Kind == "" {
			form(q, m.Params)
			break
		}
		err = p.permit(q, &a, a.tool())
	case methodCommand, methodOldCommand:
		err = p.permit(q, &a, a.command(p.lasting(), m.Method == methodOldCommand))
	case methodFiles:
		var changes []change
		known, _ := p.items.Get(a.Thread + "\n" + a.Item)
		if json.Unmarshal(known, &changes) != nil || len(changes) == 0 {
			err = errUnknownChanges
			break
		}
		err = p.permit(q, &a, a.files(changes, false))
	case methodOldFiles:
		var changes []change
		for path, c := range a.OldChanges {
			changes = append(changes, change{Path: path, Kind: kind{c.Type}, Diff: c.Content + c.Diff})
		}
		slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.Path, b.Path) })
		err = p.permit(q, &a, a.files(changes, true))
	case methodPermissions:
		err = p.permit(q, &a, a.permissions())
	default:
		return nil
	}
	q.Unfit = cmp.Or(q.Unfit, err)
	q.Ask.Session = p.Session(a.Dir)
	if p.Work != nil && a.Dir != "" {
		p.Work(a.Dir, &q.Ask.Agent)
	}
	return q
}

// lasting reports whether people may permit what stays in Codex's files.
func (p *Protocol) lasting() bool {
	return p.MinProof != "" && ask.By{Proof: p.MinProof}.Proves(ask.ProofOS)
}

func (p *Protocol) permit(q *relay.Question, a *approval, what permit) error {
	what.Dir, what.Place = a.Dir, []string{a.Thread, a.Turn, a.Item, a.Approval}
	prompt, err := hostcall.ReadAction(what.Action, lang.Of(p.Language))
	if err != nil {
		return err
	}
	if what.destructive {
		prompt.MarkDestructive()
	}
	if what.stopped == nil {
		prompt.CannotStop()
	}
	q.Ask, q.Files = prompt.Ask, prompt.Files
	q.Ask.MinProof = p.MinProof
	q.Answer = func(o *ask.Outcome) []byte {
		switch d := prompt.Decision(o); d.Choice {
		case hostcall.Once:
			return body(what.once)
		case hostcall.Granted:
			return body(what.grants[d.Grant])
		case hostcall.Refused:
			return body(what.refused)
		case hostcall.Stopped:
			return body(what.stopped)
		case hostcall.Undecided:
		}
		return nil
	}
	q.Reply = func(result json.RawMessage) (dialect.Given, error) {
		d, err := what.read(result)
		return dialect.Given{Decision: dialect.Replied, Reply: prompt.Reply(d)}, err
	}
	return nil
}

// read returns what the client's dialog decided.
func (p *permit) read(result json.RawMessage) (hostcall.Decision, error) {
	same := func(v any) bool {
		var got, want map[string]any
		if json.Unmarshal(result, &got) != nil || json.Unmarshal(body(v), &want) != nil {
			return false
		}
		delete(got, "content") // of a form without fields
		delete(want, "content")
		return equal(got, want)
	}
	switch {
	case same(p.refused):
		return hostcall.Decision{Choice: hostcall.Refused}, nil
	case p.stopped != nil && same(p.stopped):
		return hostcall.Decision{Choice: hostcall.Stopped}, nil
	case same(p.once):
		return hostcall.Decision{Choice: hostcall.Once}, nil
	}
	for i, g := range p.grants {
		if same(g) {
			return hostcall.Decision{Choice: hostcall.Granted, Grant: i}, nil
		}
	}
	return hostcall.Decision{}, errForeign
}

// errForeign says that the bus has no words for a decision; the client's response goes to the server as it is.
var errForeign = errors.New("the client decided something that only it offers")

// equal compares JSON values; in objects null is as good as nothing.
func equal(a, b any) bool {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if !isX || !isY {
		return string(body(a)) == string(body(b))
	}
	for _, pair := range [][2]map[string]any{{x, y}, {y, x}} {
		for name, v := range pair[0] {
			if other := pair[1][name]; (v != nil || other != nil) && !equal(v, other) {
				return false
			}
		}
	}
	return true
}

// command is the approval of a command, of text for one, or of access to the network.
func (a *approval) command(lasting, old bool) permit {
	type words = map[bool]any
	r := permit{
		once:    decided{words{false: "accept", true: "approved"}[old]},
		refused: decided{words{false: "decline", true: map[string]any{"denied": map[string]string{"rejection": "refused by a person"}}}[old]},
	}
	r.Mute = true
	if a.offers("cancel") {
		r.stopped = decided{words{false: "cancel", true: "abort"}[old]}
	}
	text := relay.Word(a.Command)
	if old {
		var list []string
		_ = json.Unmarshal(a.Command, &list) // not a list: nothing to show, and ReadAction refuses no command
		text = quoted(list)
	}
	r.Tool = "bash"
	switch {
	case a.Kind != "" && a.Kind != "command":
		r.Tool = a.Kind
	case text == "":
		r.Tool = "network"
	}
	r.Input = body(struct {
		Command string          `json:"command,omitempty"`
		Network json.RawMessage `json:"network,omitempty"`
		Reason  string          `json:"reason,omitempty"`
	}{text, a.Network, a.Reason})
	if a.Kind == "humanCommand" { // one decision for one command
		return r
	}
	rule := text
	if text == "" {
		var to host
		_ = json.Unmarshal(a.Network, &to) // unknown: the rule is the tool as such
		rule = to.Host
	}
	if a.offers("acceptForSession") && (len(a.Decisions) > 0 || a.Kind != "writeStdin") {
		r.grant(hostcall.InSession, decided{words{false: "acceptForSession", true: "approved_for_session"}[old]}, rule)
	}
	if lasting && len(a.Rule) > 0 && !old && a.offers("acceptWithExecpolicyAmendment") {
		r.grant(hostcall.InAll, decided{map[string]any{"acceptWithExecpolicyAmendment": map[string]any{"execpolicy_amendment": a.Rule}}}, quoted(a.Rule)+" …")
	}
	for _, h := range a.Hosts {
		if lasting && h.Action == "allow" && !old && a.offers("applyNetworkPolicyAmendment") {
			r.grant(hostcall.InAll, decided{map[string]any{"applyNetworkPolicyAmendment": map[string]any{"network_policy_amendment": h}}}, h.Host)
		}
	}
	return r
}

// quoted joins the words of a command as a shell reads them.
func quoted(list []string) string {
	var parts []string
	for _, w := range list {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune("%+,-./:=@_", r) && (r > 'z' || !isAlnum(r)) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		parts = append(parts, w)
	}
	return strings.Join(parts, " ")
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// change is the change of one file. Of a file that is added or deleted, Diff is its content.
type change struct {
	Path string `json:"path"`
	Kind kind   `json:"kind"`
	Diff string `json:"diff"`
}

type kind struct {
	Type string `json:"type"`
}

func (a *approval) files(changes []change, old bool) permit {
	type words = map[bool]any
	r := permit{
		once:    decided{words{false: "accept", true: "approved"}[old]},
		refused: decided{words{false: "decline", true: map[string]any{"denied": map[string]string{"rejection": "refused by a person"}}}[old]},
		stopped: decided{words{false: "cancel", true: "abort"}[old]},
	}
	r.Tool, r.Mute = "edit", true
	var diff strings.Builder
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
		was, is, sign := c.Path, c.Path, ""
		switch c.Kind.Type {
		case "add":
			was, sign = "/dev/null", "+"
		case "delete":
			is, sign = "/dev/null", "-"
		}
		_, _ = fmt.Fprintf(&diff, "--- %s\n+++ %s\n", was, is)
		for line := range strings.Lines(c.Diff) {
			diff.WriteString(sign + line)
		}
		if !strings.HasSuffix(c.Diff, "\n") {
			diff.WriteByte('\n')
		}
	}
	r.Diff = diff.String()
	r.Input = body(struct {
		Path   string `json:"filePath"`
		Reason string `json:"reason,omitempty"`
		Root   string `json:"grantRoot,omitempty"`
	}{strings.Join(paths, ", "), a.Reason, a.Root})
	r.grant(hostcall.InSession, decided{words{false: "acceptForSession", true: "approved_for_session"}[old]}, paths...)
	return r
}

// permissions is the approval of more rights for a turn.
func (a *approval) permissions() permit {
	wanted, _ := relay.Object(a.Wanted)
	for name, v := range wanted { // granted ones have no null
		if string(v) == "null" {
			delete(wanted, name)
		}
	}
	all := body(wanted)
	r := permit{once: granted{all, "turn"}, refused: granted{json.RawMessage("{}"), "turn"}}
	r.Tool, r.Mute = "request_permissions", true
	r.Input = body(struct {
		Permissions json.RawMessage `json:"permissions"`
		Reason      string          `json:"reason,omitempty"`
	}{a.Wanted, a.Reason})
	r.grant(hostcall.InSession, granted{all, "session"}, "")
	return r
}

// tool is the approval of a call of an MCP server's tool.
func (a *approval) tool() permit {
	r := permit{once: formed{"accept", &struct{}{}, nil}, refused: formed{"decline", nil, nil}, stopped: formed{"cancel", nil, nil}, destructive: a.Meta.Notes.Destructive}
	r.Tool, r.Server, r.Mute, r.Input = "mcp__"+a.Server+"__"+a.Meta.Tool, a.Server, true, a.Meta.Arguments
	if len(r.Input) == 0 || string(r.Input) == "null" {
		r.Input = json.RawMessage("{}")
	}
	if slices.Contains(a.Meta.Persist, "session") {
		r.grant(hostcall.InSession, formed{"accept", &struct{}{}, persisting{"session"}}, "")
	}
	return r
}
