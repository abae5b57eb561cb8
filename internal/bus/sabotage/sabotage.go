//go:build sabotage

package sabotage

// Kind is one way to break a guarantee.
type Kind string

// The kinds, by the guarantee that each breaks.
const (
	None         Kind = ""
	NoCompare    Kind = "no-compare"    // at most one outcome: outcomes are stored without compare-and-set
	LastWins     Kind = "last-wins"     // the first is the truth: reads take the last message of a subject
	AskUnstored  Kind = "ask-unstored"  // an acknowledged ask is kept: some are acknowledged and not stored
	AnswerUnkept Kind = "answer-unkept" // an acknowledged answer is kept: some are acknowledged and not stored
	TellOther    Kind = "tell-other"    // everybody is told what is stored: replies name another person
	AnyAudience  Kind = "any-audience"  // nobody outside the audience decides: it is ignored
	NoExpiry     Kind = "no-expiry"     // every ask ends: no timer, no sweep
	NoNotice     Kind = "no-notice"     // every waiting agent learns it: outcomes are not republished
	NoWork       Kind = "no-work"       // every surface learns it: posting surfaces get no outcomes
	VoteUnkept   Kind = "vote-unkept"   // an acknowledged vote is kept: some are acknowledged and not stored
	ShortPolicy  Kind = "short-policy"  // nothing is decided short of its approval: one vote is enough

	// A step of a ladder is taken once, in order, neither early nor after the end, and not left out.
	StepTwice   Kind = "step-twice"
	StepSkipped Kind = "step-skipped"
	StepEarly   Kind = "step-early"
	StepLate    Kind = "step-late"
	StepLeftOut Kind = "step-left-out"

	// A person has one vote; who stands in for somebody does so while that is in effect, for nobody who stands in
	// as well, and for nobody whom the ask excludes.
	TwoVotes      Kind = "two-votes"
	StandInEnded  Kind = "stand-in-ended"
	StandInChain  Kind = "stand-in-chain"
	ExcludedVotes Kind = "excluded-votes"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{NoCompare, LastWins, AskUnstored, AnswerUnkept, TellOther, AnyAudience, NoExpiry, NoNotice, NoWork, VoteUnkept, ShortPolicy, StepTwice, StepSkipped, StepEarly, StepLate, StepLeftOut, TwoVotes, StandInEnded, StandInChain, ExcludedVotes}
}
