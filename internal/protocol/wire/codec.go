package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// Marshal is json.Marshal without HTML escapes. With them, an ask that fitted
// into an event could grow sixfold in the ledger.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Duration is a time span, in JSON in Go syntax, such as "2h" or "90s".
type Duration time.Duration

// MarshalText writes it in Go syntax.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads Go syntax.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// EncodeAsk returns the JSON of an ask, without its tenant and session.
func EncodeAsk(a *ask.Ask) ([]byte, error) { return a.MarshalJSON() }

// DecodeAsk reads an ask from outside, strictly. It neither normalizes nor
// validates, but if it refuses the JSON, it reports the other faults of the ask
// as well.
func DecodeAsk(data []byte) (ask.Ask, error) {
	var a ask.Ask
	if err := Strict("ask", data, &a); err != nil {
		return a, EveryFault(err, data)
	}
	return a, nil
}

// EncodeOutcome returns the JSON of an outcome. rawAsk, if given, replaces its
// ask.
func EncodeOutcome(o *ask.Outcome, rawAsk json.RawMessage) ([]byte, error) {
	if rawAsk == nil {
		return o.MarshalJSON()
	}
	bare := *o
	bare.Ask = nil
	b, err := bare.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b = append(append(b[:len(b)-1], `,"ask":`...), rawAsk...) // already JSON
	return append(b, '}'), nil
}

// CarryOutcome is EncodeOutcome for an outcome of a broker that is passed on
// unchanged, with or without its ask: fields of a newer broker stay.
func CarryOutcome(o *ask.Outcome) ([]byte, error) {
	switch {
	case o.Raw == nil:
		return EncodeOutcome(o, nil)
	case o.Ask != nil:
		return o.Raw, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.Raw, &fields); err != nil {
		return nil, fmt.Errorf("carry outcome: %w", err)
	}
	delete(fields, "ask")
	return Marshal(fields)
}

// DecodeOutcome reads an outcome's JSON, leniently.
func DecodeOutcome(data []byte) (ask.Outcome, error) {
	var o ask.Outcome
	if err := o.UnmarshalJSON(data); err != nil { // json.Unmarshal would scan it twice more
		return ask.Outcome{}, fmt.Errorf("read outcome: %w", err)
	}
	return o, nil
}

// Bodies of commands on one ask. They name the ask, which must be that of the
// subject.
type (
	replyBody struct {
		AskID string `json:"ask_id"`
		ask.Reply
	}
	declineBody struct {
		AskID    string `json:"ask_id"`
		AnswerID string `json:"answer_id"`
		Reason   string `json:"reason,omitempty"`
		By       ask.By `json:"by"`
	}
	endBody struct { // withdraw and abort
		AskID        string   `json:"ask_id"`
		Reason       string   `json:"reason,omitempty"`
		DialogWithin Duration `json:"dialog_within,omitzero"` // withdraw
	}
	receiptBody struct {
		AskID string `json:"ask_id,omitempty"`
		ask.Receipt
	}
)

// EncodeReply returns the data of an answer event.
func EncodeReply(askID string, r ask.Reply) ([]byte, error) { return Marshal(replyBody{askID, r}) }

// DecodeReply reads the data of an answer event, strictly, for the ask askID.
func DecodeReply(data []byte, askID string) (ask.Reply, error) {
	w, err := decode("answer", data, func(w *replyBody) []ask.Fault { return checkHead(askID, w.AskID, w.AnswerID, w.By) })
	return w.Reply, err
}

// EncodeDecline returns the data of a cancel event.
func EncodeDecline(askID, answerID, reason string, by ask.By) ([]byte, error) {
	return Marshal(declineBody{askID, answerID, reason, by})
}

// DecodeDecline reads the data of a cancel event, strictly: a reply without
// answers, and the reason.
func DecodeDecline(data []byte, askID string) (r ask.Reply, reason string, err error) {
	w, err := decode("cancel", data, func(w *declineBody) []ask.Fault {
		return append(checkHead(askID, w.AskID, w.AnswerID, w.By), longer("/reason", w.Reason, ask.MaxText)...)
	})
	return ask.Reply{AnswerID: w.AnswerID, By: w.By}, w.Reason, err
}

// End is the data of a withdraw or abort event.
type End struct {
	Reason string
	// DialogWithin is how long the answer of the host's own dialog may still follow, at most
	// [MaxDialogWithin]. Only withdraw over NATS has it.
	DialogWithin time.Duration
}

// MaxDialogWithin bounds [End.DialogWithin].
const MaxDialogWithin = time.Minute

type unvoteBody struct {
	AskID    string `json:"ask_id"`
	AnswerID string `json:"answer_id"`
	By       ask.By `json:"by"`
}

// EncodeUnvote returns the data of an event that takes a vote back.
func EncodeUnvote(askID, answerID string, by ask.By) ([]byte, error) {
	return Marshal(unvoteBody{askID, answerID, by})
}

// DecodeUnvote reads the data of an event that takes a vote back, strictly: a
// reply without answers.
func DecodeUnvote(data []byte, askID string) (ask.Reply, error) {
	w, err := decode("unvote", data, func(w *unvoteBody) []ask.Fault { return checkHead(askID, w.AskID, w.AnswerID, w.By) })
	return ask.Reply{AnswerID: w.AnswerID, By: w.By}, err
}

// EncodeEnd returns the data of a withdraw or abort event.
func EncodeEnd(askID string, e End) ([]byte, error) {
	return Marshal(endBody{askID, e.Reason, Duration(e.DialogWithin)})
}

// DecodeEnd reads the data of a withdraw or abort event, strictly.
func DecodeEnd(what string, data []byte, askID string) (End, error) {
	w, err := decode(what, data, func(w *endBody) []ask.Fault {
		f := append(checkID(askID, w.AskID), longer("/reason", w.Reason, ask.MaxText)...)
		switch within := time.Duration(w.DialogWithin); {
		case what != "withdraw" && within != 0: // of an operator, or over HTTP
			f = append(f, ask.NewFault("/dialog_within", ask.FaultOnlyFor, "withdraw_over_nats"))
		case within < 0, within > MaxDialogWithin:
			f = append(f, ask.NewFault("/dialog_within", ask.FaultOutOfRange, within, "0s", MaxDialogWithin))
		}
		return f
	})
	return End{w.Reason, time.Duration(w.DialogWithin)}, err
}

// EncodeReceipt returns the data of a receipt event.
func EncodeReceipt(askID string, r ask.Receipt) ([]byte, error) {
	return Marshal(receiptBody{askID, r})
}

// DecodeReceipt reads the data of a receipt event, strictly.
func DecodeReceipt(data []byte, askID string) (ask.Receipt, error) {
	w, err := decode("receipt", data, func(w *receiptBody) []ask.Fault {
		f := checkID(askID, w.AskID)
		switch w.State {
		case ask.ReceiptPosting, ask.ReceiptPosted, ask.ReceiptFailed:
		default:
			f = append(f, ask.NewFault("/state", ask.FaultNotOneOf, clip(string(w.State)), []string{string(ask.ReceiptPosting), string(ask.ReceiptPosted), string(ask.ReceiptFailed)}))
		}
		f = slices.Concat(f, checkLife(w.Life), longer("/key", w.Key, ask.MaxName))
		if len(w.Places) > ask.MaxPlaces {
			f = append(f, ask.NewFault("/places", ask.FaultTooMany, len(w.Places), "places", ask.MaxPlaces))
		}
		for i, p := range w.Places {
			f = append(f, longer(fmt.Sprintf("/places/%d/ref", i), p.Ref, ask.MaxLabel)...)
			f = append(f, longer(fmt.Sprintf("/places/%d/where", i), p.Where, ask.MaxText)...)
		}
		return f
	})
	return w.Receipt, err
}

// ReadReceipt reads a receipt from the ledger.
func ReadReceipt(data []byte) (ask.Receipt, error) {
	var r ask.Receipt
	if err := json.Unmarshal(data, &r); err != nil {
		return ask.Receipt{}, fmt.Errorf("read receipt: %w", err)
	}
	return r, nil
}

// checkID checks that the body names the ask of its subject.
func checkID(want, got string) []ask.Fault {
	if got == want {
		return nil
	}
	return []ask.Fault{ask.NewFault("/ask_id", ask.FaultDisagrees, clip(got), "subject", want)}
}

// checkHead checks that a reply names its ask, its own id and the person who
// acted.
func checkHead(wantID, gotID, answerID string, by ask.By) []ask.Fault {
	f := checkID(wantID, gotID)
	switch {
	case answerID == "":
		f = append(f, ask.NewFault("/answer_id", ask.FaultMissing, "id"))
	case !ask.ValidID(answerID):
		f = append(f, ask.NewFault("/answer_id", ask.FaultBadID, ask.Clip(answerID, 80), 128))
	}
	return append(f, checkBy(by)...)
}

func checkBy(by ask.By) (f []ask.Fault) {
	for _, v := range []struct{ at, value string }{{"/by/principal", by.Principal}, {"/by/name", by.Name}, {"/by/proof", by.Proof}} {
		f = append(f, longer(v.at, v.value, ask.MaxName)...)
	}
	if len(by.Groups) > ask.MaxGroups {
		f = append(f, ask.NewFault("/by/groups", ask.FaultTooMany, len(by.Groups), "groups", ask.MaxGroups))
	}
	return f
}

// longer returns the fault of a text with more than most characters.
func longer(at, s string, most int) []ask.Fault {
	if n := utf8.RuneCountInString(s); n > most {
		return []ask.Fault{ask.NewFault(at, ask.FaultTooLong, n, most)}
	}
	return nil
}

// clip cuts a value for a fault.
func clip(s string) string { return ask.Clip(s, maxGiven) }
