package ask

import (
	"slices"
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
	MaxAudience    = 100              // audience entries
	MaxGroups      = 200              // groups of one principal
	MaxMetadata    = 64               // metadata entries
	MaxEventBytes  = 256 << 10        // one event on the wire, in bytes
	MinTimeout     = time.Second      // the shortest time an ask may wait
	MaxTimeout     = 720 * time.Hour  // the longest, and what holds when an ask names none: 30 days
	MaxHold        = 10 * time.Minute // the longest a broker holds one waiting request
	DefaultTenant  = "default"        // the tenant of somebody who never heard of tenants
	DefaultSession = "cli"            // the session of somebody who has none
)

// Ask is one request from an agent: questions that are answered together.
// ID is unique within Tenant and Session; those two come from the subject the
// ask was published on, never from its body.
type Ask struct {
	ID      string
	Tenant  string
	Session string

	Agent    Agent
	Title    string // one line; optional
	Context  string // Markdown: what the agent is doing and why it asks; optional
	Priority Priority
	Metadata map[string]any // for analysis and routing, never displayed

	// Audience says who may decide: entries "group:<name>" or a principal,
	// exactly. Empty means everybody the responder has proven.
	Audience []string
	// RequireResponder refuses the ask when no person is at any surface.
	RequireResponder bool

	// Timeout (by the broker's clock) or Deadline says when the ask ends by
	// itself; at most one of them is given. A stored ask has a Deadline.
	Timeout    time.Duration
	Deadline   time.Time
	AtDeadline AtDeadline

	Questions []Question
}

// Agent is who asks. Parent is the path of the agents above it, such as
// "planner/a-1" for a sub-agent's.
type Agent struct {
	ID     string
	Name   string
	Parent string
}

// Priority is how loudly a surface presents an ask. The zero value means
// [PriorityNormal].
type Priority string

// The priorities, in rising order.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// AtDeadline says what holds when nobody answered in time. The zero value
// means [AtDeadlineExpire].
type AtDeadline string

// What happens at the deadline: the ask just ends, or it ends with the default
// answers that it declared, marked as such. Silence is never a decision.
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

// Allows reports whether by may decide this ask: the ask has no audience, or
// the principal or one of its groups is in it.
func (a *Ask) Allows(by By) bool {
	if len(a.Audience) == 0 {
		return true
	}
	return slices.ContainsFunc(a.Audience, func(entry string) bool {
		return entry == by.Principal || slices.ContainsFunc(by.Groups, func(g string) bool { return entry == "group:"+g })
	})
}

// Heading is the one line that names this ask in a list: its title, else the
// text of its first question.
func (a *Ask) Heading() string {
	if a.Title != "" || len(a.Questions) == 0 {
		return a.Title
	}
	return a.Questions[0].Text
}
