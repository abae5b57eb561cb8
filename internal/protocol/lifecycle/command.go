package lifecycle

import "github.com/askbus/askbus/pkg/ask"

// Command is what somebody wants of an ask: one of [Ask], [Reply], [Decline],
// [Withdraw], [Abort] and [Look].
//
//sumtype:decl
type Command interface{ command() }

type (
	// Ask stores a new ask, or finds it already stored. State is from [New],
	// with its life, digest and JSON.
	Ask struct{ State State }
	// Reply answers an ask.
	Reply struct {
		Reply    ask.Reply
		MinProof string // the tenant's policy, in addition to the ask's own demand
	}
	// Decline cancels a whole ask on behalf of a person.
	Decline struct {
		Reply  ask.Reply // AnswerID and By
		Reason string
		// MinProof is as in Reply.
		MinProof string
	}
	// Withdraw takes an ask back on behalf of its agent.
	Withdraw struct{ Reason string }
	// Abort ends an ask on behalf of an operator.
	Abort struct{ Reason string }
	// Look only reads, but expires an overdue ask.
	Look struct{}
)

func (Ask) command()      {}
func (Reply) command()    {}
func (Decline) command()  {}
func (Withdraw) command() {}
func (Abort) command()    {}
func (Look) command()     {}

// Effect is what to do: one of [Store], [Resolve] and [Tell].
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Store writes the question; the ask is then pending.
	Store struct{ State State }
	// Resolve writes the outcome. Then decide again: the reply follows from the
	// resulting state.
	Resolve struct{ Outcome ask.Outcome }
	// Tell writes nothing: the reply is the current state.
	Tell struct{}
)

func (Store) effect()   {}
func (Resolve) effect() {}
func (Tell) effect()    {}
