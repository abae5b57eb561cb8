package wire

import "github.com/askbus/askbus/pkg/ask"

// StatusOf reads the data of a status event in reply to a request about one
// ask. A reply about another ask is an error: credentials of one role and width
// share an inbox, and one of them could have had a reply to its own request
// sent to another's.
func StatusOf(k ask.Key, data []byte) (StatusReply, error) {
	s, err := decodeStatus(data)
	if err != nil {
		return StatusReply{}, err
	}
	if err := about(k, s.Key); err != nil {
		return StatusReply{}, err
	}
	if s.Ask != nil {
		if err := about(k, s.Ask.Key()); err != nil {
			return StatusReply{}, err
		}
	}
	if s.Outcome != nil {
		err = about(k, s.Outcome.Key())
	}
	return s, err
}

// OutcomeOf reads the data of an outcome event in reply to a request about one
// ask, likewise.
func OutcomeOf(k ask.Key, data []byte) (ask.Outcome, error) {
	o, err := DecodeOutcome(data)
	if err != nil {
		return ask.Outcome{}, err
	}
	if err := about(k, o.Key()); err != nil {
		return ask.Outcome{}, err
	}
	return o, nil
}

// about refuses what is not about an ask. The request may be sent again.
func about(k, got ask.Key) error {
	if got == k {
		return nil
	}
	return ask.Refusal(ask.CodeUnavailable, ask.FaultForeignReply, k, ask.Clip(got.String(), 200))
}
