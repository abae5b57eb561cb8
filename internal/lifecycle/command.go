package lifecycle

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Command is what somebody wants of an ask: one of [Ask], [Reply], [Decline],
// [Withdraw], [Abort] and [Look].
//
//sumtype:decl
type Command interface{ command() }

type (
	// Ask stores a new ask, or finds it stored already. State is what [New] made
	// of it, with its life, its digest and its JSON.
	Ask struct{ State State }
	// Reply answers an ask.
	Reply struct {
		Reply    ask.Reply
		MinProof string // what the tenant's policy demands beside the ask
	}
	// Decline cancels a whole ask in a person's name.
	Decline struct {
		Reply  ask.Reply // AnswerID and By
		Reason string
		// MinProof is as in Reply.
		MinProof string
	}
	// Withdraw takes an ask back in its agent's name.
	Withdraw struct{ Reason string }
	// Abort ends an ask in an operator's name.
	Abort struct{ Reason string }
	// Look only reads; an overdue ask is expired on the way.
	Look struct{}
)

func (Ask) command()      {}
func (Reply) command()    {}
func (Decline) command()  {}
func (Withdraw) command() {}
func (Abort) command()    {}
func (Look) command()     {}

// Env is what the world says: Decide reads no clock.
type Env struct {
	Now time.Time // by the ledger's clock; zero: it is not known, and nothing ends by time
}

// Effect is what to do: one of [Store], [Resolve] and [Tell].
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Store writes the question; then the ask is pending.
	Store struct{ State State }
	// Resolve writes the outcome. Then decide again: the reply follows from
	// what the ledger then holds.
	Resolve struct{ Outcome ask.Outcome }
	// Tell writes nothing: the reply is what the ledger holds.
	Tell struct{}
)

func (Store) effect()   {}
func (Resolve) effect() {}
func (Tell) effect()    {}
