package lifecycle

import "github.com/askbus/askbus/pkg/ask"

// Command is what somebody wants of an ask: one of [Ask], [Reply], [Decline],
// [Unvote], [Withdraw], [Leave], [Abort], [Climb], [Relieve], [Attend],
// [Remind] and [Look].
//
//sumtype:decl
type Command interface{ command() }

type (
	// Ask stores a new ask, or finds it already stored. State is from [New],
	// with its life, digest and JSON.
	Ask struct{ State State }
	// Reply answers an ask. If the ask has an approval it is a vote.
	Reply struct {
		Reply      ask.Reply
		MinProof   string // the tenant's policy, in addition to the ask's own demand
		Credential string // the public key of the sender's credential
		Token      string // the id of the API token on whose behalf it is sent; may be empty
	}
	// Decline cancels a whole ask on behalf of a person. If the ask has an
	// approval it is a vote against it.
	Decline struct {
		Reply  ask.Reply // AnswerID and By
		Reason string
		// MinProof, Credential and Token are as in Reply.
		MinProof   string
		Credential string
		Token      string
	}
	// Unvote takes a person's vote back.
	Unvote struct {
		Reply      ask.Reply // AnswerID, an id of its own, and By
		Credential string
		Token      string
	}
	// Withdraw takes an ask back on behalf of its agent.
	Withdraw struct{ Reason string }
	// Leave says that the agent has left: only the answer of its host's own dialog
	// may still follow. An ask that is not tied to its agent's waiting stays open
	// for everybody.
	Leave struct{}
	// Abort ends an ask on behalf of an operator.
	Abort struct{ Reason string }
	// Climb takes the next step of the ladder, if it is due. Only brokers do.
	Climb struct{}
	// Relieve writes into the ask who is on call, if that has changed. Only brokers
	// do.
	Relieve struct{}
	// Attend says that a person looks at the ask, so that the next step waits.
	Attend struct{ By ask.By }
	// Remind tells people in a chat that nobody on their devices saw the ask, as a
	// step of an ask without a ladder does. Only brokers do.
	Remind struct{ Tell, Via []string }
	// Look only reads, but expires an overdue ask.
	Look struct{}
)

func (Ask) command()      {}
func (Reply) command()    {}
func (Decline) command()  {}
func (Unvote) command()   {}
func (Withdraw) command() {}
func (Leave) command()    {}
func (Abort) command()    {}
func (Climb) command()    {}
func (Relieve) command()  {}
func (Attend) command()   {}
func (Remind) command()   {}
func (Look) command()     {}

// Person returns the person of a command that somebody may decide for another one.
func Person(c Command) (by ask.By, ok bool) {
	switch c := c.(type) {
	case Reply:
		return c.Reply.By, c.Reply.BreakGlass == nil // a role is never somebody else's
	case Decline:
		return c.Reply.By, true
	case Attend:
		return c.By, true
	default:
		return ask.By{}, false
	}
}

// As returns the command of a [Person] as one of by.
func As(c Command, by ask.By) Command {
	switch c := c.(type) {
	case Reply:
		c.Reply.By = by
		return c
	case Decline:
		c.Reply.By = by
		return c
	case Attend:
		c.By = by
		return c
	default:
		return c
	}
}

// Effect is what to do: one of [Store], [Rewrite], [Resolve] and [Tell].
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Store writes the question; the ask is then pending.
	Store struct{ State State }
	// Rewrite writes what has happened to a pending ask: [Voted], [Stepped],
	// [Looked], [Relieved] or [Left]. Then decide again.
	Rewrite struct{ Event Event }
	// Resolve writes the outcome. Then decide again: the reply follows from the
	// resulting state.
	Resolve struct{ Outcome ask.Outcome }
	// Tell writes nothing: the reply is the current state.
	Tell struct{}
)

func (Store) effect()   {}
func (Rewrite) effect() {}
func (Resolve) effect() {}
func (Tell) effect()    {}
