package ask

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Bounds of an ask. Lengths count Unicode code points.
const (
	MaxQuestions   = 16               // questions in one ask
	MaxOptions     = 100              // options of one question
	MaxHeader      = 12               // a question's header, shown as a chip
	MaxTitle       = 300              // an ask's title
	MaxText        = 10_000           // a question's text, a description, a reason, a note, an Other text
	MaxLabel       = 500              // an option's label
	MaxLong        = 65_536           // context, a preview's body, a typed text answer
	MaxName        = 256              // names, ids of people, audience entries, placeholders
	MaxLink        = 2048             // an agent's link
	MaxAudience    = 100              // audience entries
	MaxAskers      = 16               // principals of the asker
	MaxGroups      = 200              // groups of one principal
	MaxMetadata    = 64               // metadata entries
	MaxPlaces      = 100              // places of one receipt
	MaxEventBytes  = 256 << 10        // one event on the wire, in bytes
	MinTimeout     = time.Second      // the shortest time an ask may wait
	MaxTimeout     = 720 * time.Hour  // the longest, and the default of an ask that names none: 30 days
	MaxHold        = 10 * time.Minute // the longest a broker holds one waiting request
	DefaultTenant  = "default"        // of an ask that names none
	DefaultSession = "cli"            // of an ask that names none
)

// Ask is one request from an agent: questions that are answered together. ID is
// unique within Tenant and Session. Those two come from the subject the ask was
// published on, never from its body, and are left out of its JSON.
//
// It marshals to and from the JSON of the protocol.
type Ask struct {
	ID      string `json:"id,omitempty"`
	Tenant  string `json:"-"`
	Session string `json:"-"`

	Agent    Agent          `json:"agent,omitzero"`
	Title    string         `json:"title,omitempty"`   // one line; optional
	Context  string         `json:"context,omitempty"` // Markdown: what the agent is doing and why it asks; optional
	Priority Priority       `json:"priority,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"` // for analysis and routing, never displayed
	Files    []File         `json:"files,omitempty"`    // evidence: uploaded files; with those of options at most [MaxFiles]

	// Audience says who may decide: each entry is "group:<name>" or a
	// principal. Empty means everybody whom a responder has authenticated.
	Audience []string `json:"audience,omitempty"`
	// MinProof is the weakest proof of identity that an answer may have: one of
	// [MinProofs]. Empty demands only what the audience demands.
	MinProof string `json:"min_proof,omitempty"`
	// ExcludeAsker forbids the asker to decide: see [Ask.Excludes]. It needs
	// Asker: one principal for each way in which that person answers, such as
	// "os:mei" and "oidc:id.example.com#mei@example.com". The broker sets Asker if the
	// credential that asks says for whom; otherwise these are the ask's own words.
	ExcludeAsker bool     `json:"exclude_asker,omitempty"`
	Asker        []string `json:"asker,omitempty"`
	// Only limits who may decide: empty, or [OnlyAsker], which needs Asker.
	Only string `json:"only,omitempty"`
	// Exclude are principals that may not decide.
	Exclude []string `json:"exclude,omitempty"`
	// Approval, if set, makes each answer a vote: see [Approval].
	Approval *Approval `json:"approval,omitempty"`
	// Escalate are the steps that are taken one after the other while nobody
	// decides the ask; they begin again EscalateRepeat times. See [Escalation].
	Escalate       []Escalation `json:"escalate,omitempty"`
	EscalateRepeat int          `json:"escalate_repeat,omitempty"`
	// EscalateHours is the name of a calendar of the operator: After of the steps
	// counts only its open hours, and steps are taken only in them. Empty: all.
	EscalateHours string `json:"escalate_hours,omitempty"`
	// OpenHours are those of that calendar, as it was when it was asked. Only the
	// broker sets them.
	OpenHours *OpenHours `json:"open_hours,omitempty" wire:"broker"`
	// Policies are the operator's policies that apply to the ask, as they were
	// when it was asked. Only the broker sets them.
	Policies []Policy `json:"policies,omitempty" wire:"broker"`
	// BreakGlass are the operator's roles whose people may decide the ask alone, as
	// they were when it was asked. Only the broker sets them.
	BreakGlass []BreakGlassRole `json:"break_glass,omitempty" wire:"broker"`
	// RequireResponder refuses the ask when no person is present at any
	// surface.
	RequireResponder bool `json:"require_responder,omitempty"`

	// WhileWaiting ties the ask to its agent's waiting. The ask is withdrawn
	// with [ReasonGaveUp] some minutes after the last sign that a process waits
	// for it, or for another WhileWaiting ask of its session. See
	// docs/protocol.md.
	WhileWaiting bool `json:"while_waiting,omitempty"`

	// Callback is the name of an address that an operator registered, to which
	// the outcome is sent as a signed webhook. It changes nothing about waiting.
	Callback string `json:"callback,omitempty"`

	// Timeout (by the broker's clock) or Deadline says when the ask ends by
	// itself; at most one of them is set. A stored ask has a Deadline. In JSON
	// the timeout is a string in Go syntax, such as "2h".
	Timeout    time.Duration `json:"timeout,omitempty"`
	Deadline   time.Time     `json:"deadline,omitzero"`
	AtDeadline AtDeadline    `json:"at_deadline,omitempty"`

	Questions []Question `json:"questions"`

	Raw json.RawMessage `json:"-"` // as it was read, if that has fields which this version does not know; it is not written
}

// Agent describes the asking agent and what it works on. Parent is the path of
// the agents above it, such as "planner/a-1" for a sub-agent. Repository is any
// text, because there are monorepos, Perforce and directories without a remote. A
// link has no user name, so that it leads to the host that it shows.
type Agent struct {
	ID         string `json:"id,omitempty"`
	Name       string `json:"name,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Repository string `json:"repository,omitempty"` // such as "acme/payments"
	Branch     string `json:"branch,omitempty"`
	Link       string `json:"link,omitempty"` // http or https: a page with more about it, such as the repository or a run
}

// Priority says how prominently a surface presents an ask. The zero value means
// [PriorityNormal].
type Priority string

// The priorities, in rising order.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// AtDeadline says what happens when nobody answers in time. The zero value
// means [AtDeadlineExpire].
type AtDeadline string

// At the deadline the ask either just ends, or ends with its declared default
// answers, marked as such. Silence never counts as a decision.
const (
	AtDeadlineExpire  AtDeadline = "expire"
	AtDeadlineDefault AtDeadline = "default"
)

// Question returns the question with this id, or nil.
func (a *Ask) Question(id string) *Question {
	for i := range a.Questions {
		if a.Questions[i].ID == id {
			return &a.Questions[i]
		}
	}
	return nil
}

// Excludes reports whether by may not decide because the ask excludes its
// asker or others: by is one of them, or cannot be tied to one person, as whom
// the asker could answer too. It does not bind an agent that lies about its asker,
// unless its credential says for whom it asks.
func (a *Ask) Excludes(by By) bool {
	if !a.ExcludeAsker && len(a.Exclude) == 0 {
		return false
	}
	if by.For != nil && a.Excludes(*by.For) {
		return true
	}
	return a.ExcludeAsker && slices.Contains(a.Asker, by.Principal) || slices.Contains(a.Exclude, by.Principal) || !by.ProvesPrincipal() || !by.person()
}

// NeedsPrincipal reports whether the ask can be decided only by a known
// principal: it has an audience or an approval, or says who may not decide, or
// alone may.
func (a *Ask) NeedsPrincipal() bool {
	return len(a.Audience) > 0 || a.ExcludeAsker || len(a.Exclude) > 0 || a.Only != "" || a.Approval != nil
}

// Allows reports whether by may decide this ask: the ask does not exclude it,
// has no audience or one that contains the principal or one of its groups, and
// no approval or one in which its vote can count.
func (a *Ask) Allows(by By) bool {
	if a.Excludes(by) || !a.MeetsOnly(by) {
		return false
	}
	return lists(a.Audience, by) && (a.Approval == nil || a.Approval.MayVote(by))
}

// CouldDecide reports whether a principal may decide the ask as far as nobody needs to
// know its groups and who is on call: it is not excluded, and named, or a member of a
// group or schedule may be.
func (a *Ask) CouldDecide(principal string) bool {
	by := By{Principal: principal, Proof: ProofPasskey}
	if len(a.Schedules()) > 0 {
		return !a.Excludes(by) && a.MeetsOnly(by)
	}
	groups := func(_ string, entries *[]string) {
		for _, entry := range *entries {
			if group, ok := strings.CutPrefix(entry, "group:"); ok {
				by.Groups = append(by.Groups, group)
			}
		}
	}
	groups("", &a.Audience)
	if a.Approval != nil {
		a.Approval.eachList("", groups)
	}
	return a.Allows(by)
}

// MeetsOnly reports whether by may decide as far as Only says: nobody stands in for
// the asker.
func (a *Ask) MeetsOnly(by By) bool {
	return a.Only == "" || by.For == nil && by.ProvesPrincipal() && slices.Contains(a.Asker, by.Principal)
}

// only returns the principals that alone may decide, if there are any.
func (a *Ask) only() []string {
	if a.Only == "" {
		return nil
	}
	return a.Asker
}

// Heading returns the line that names this ask in a list: its title, else the
// text of its first question.
func (a *Ask) Heading() string {
	if a.Title != "" || len(a.Questions) == 0 {
		return a.Title
	}
	return a.Questions[0].Text
}
