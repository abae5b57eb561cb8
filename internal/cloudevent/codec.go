package cloudevent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-json-experiment/json/jsontext"
)

// EncodeAsk is the JSON of an ask. Tenant and session are not part of it.
func EncodeAsk(a *ask.Ask) ([]byte, error) { return marshal(wireAsk(a)) }

// DecodeAsk reads an ask from outside, strictly. It neither normalizes nor
// validates.
func DecodeAsk(data []byte) (ask.Ask, error) {
	var w askJSON
	if err := Strict("ask", data, &w); err != nil {
		return ask.Ask{}, err
	}
	return w.ask(), nil
}

// readAsk reads an ask that the ledger or a broker vouches for, leniently.
func readAsk(data []byte, tenant, session string) (ask.Ask, error) {
	var w askJSON
	if err := unmarshal(data, &w); err != nil {
		return ask.Ask{}, fmt.Errorf("read ask: %w", err)
	}
	a := w.ask()
	a.Tenant, a.Session = tenant, session
	return a, nil
}

// Digest identifies what a normalized ask asks: "sha256:" and the hex SHA-256
// of the RFC 8785 JSON of its questions, title, context, audience and
// at_deadline. Deadline, agent, priority and metadata do not count.
func Digest(a *ask.Ask) (string, error) {
	full := wireAsk(a)
	data, err := marshal(askJSON{
		Title: full.Title, Context: full.Context, Audience: full.Audience, AtDeadline: full.AtDeadline, Questions: full.Questions,
	})
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	canonical := jsontext.Value(data)
	if err := canonical.Canonicalize(); err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Stored is a question as the ledger holds it.
type Stored struct {
	Ask        ask.Ask
	RawAsk     json.RawMessage // the ask's JSON as stored: it may say more than this build knows
	OnDeadline ask.Outcome     // the will, without its ask
	Digest     string
}

type storedJSON struct {
	Ask        json.RawMessage `json:"ask"`
	OnDeadline json.RawMessage `json:"on_deadline"`
	Digest     string          `json:"digest"`
}

// EncodeStored is the data of a question event in the ledger.
func EncodeStored(s *Stored) ([]byte, error) {
	raw := s.RawAsk
	if raw == nil {
		var err error
		if raw, err = EncodeAsk(&s.Ask); err != nil {
			return nil, err
		}
	}
	will, err := EncodeOutcome(&s.OnDeadline, nil)
	if err != nil {
		return nil, err
	}
	// Both are JSON already; encoding them again would read every byte of them.
	b := append(make([]byte, 0, len(raw)+len(will)+128), `{"ask":`...)
	b = append(append(b, raw...), `,"on_deadline":`...)
	b = append(append(b, will...), `,"digest":`...)
	return append(strconv.AppendQuote(b, s.Digest), '}'), nil
}

// storedRead is a stored question as it is read, in one go.
type storedRead struct {
	Ask        askJSON     `json:"ask"`
	OnDeadline outcomeJSON `json:"on_deadline"`
	Digest     string      `json:"digest"`
}

// DecodeStored reads the data of a question event in the ledger.
func DecodeStored(data []byte, tenant, session string) (Stored, error) {
	var w storedRead
	if err := unmarshal(data, &w); err != nil {
		return Stored{}, fmt.Errorf("read question: %w", err)
	}
	raw, ok := firstField(data)
	if !ok { // not as we write it
		var in storedJSON
		if err := unmarshal(data, &in); err != nil {
			return Stored{}, fmt.Errorf("read question: %w", err)
		}
		raw = in.Ask
	}
	a := w.Ask.ask()
	a.Tenant, a.Session = tenant, session
	return Stored{Ask: a, RawAsk: raw, OnDeadline: w.OnDeadline.outcome(), Digest: w.Digest}, nil
}

// EncodeOutcome is the JSON of an outcome. rawAsk, if given, stands for its ask.
func EncodeOutcome(o *ask.Outcome, rawAsk json.RawMessage) ([]byte, error) {
	w := outcomeJSON{
		AskID: o.AskID, Tenant: o.Tenant, Session: o.Session, Status: string(o.Status), Source: string(o.Source),
		AnswerID: o.AnswerID, Answers: wireAnswers(o.Answers), Response: o.Response, Reason: o.Reason, By: wireBy(o.By),
		At: o.At.UTC(), WaitedMS: o.Waited.Milliseconds(),
	}
	if o.CancelledBy != nil {
		w.CancelledBy = new(cancelledByJSON(*o.CancelledBy))
	}
	b, err := marshal(w)
	if err != nil {
		return nil, err
	}
	if rawAsk == nil && o.Ask != nil {
		if rawAsk, err = EncodeAsk(o.Ask); err != nil {
			return nil, err
		}
	}
	if rawAsk != nil { // it is JSON already
		b = append(append(b[:len(b)-1], `,"ask":`...), rawAsk...)
		b = append(b, '}')
	}
	return b, nil
}

// DecodeOutcome reads an outcome's JSON, leniently.
func DecodeOutcome(data []byte) (ask.Outcome, error) {
	var w outcomeJSON
	if err := unmarshal(data, &w); err != nil {
		return ask.Outcome{}, fmt.Errorf("read outcome: %w", err)
	}
	return w.outcome(), nil
}

func (w *outcomeJSON) outcome() ask.Outcome {
	o := ask.Outcome{
		AskID: w.AskID, Tenant: w.Tenant, Session: w.Session, Status: ask.Status(w.Status), Source: ask.Source(w.Source),
		AnswerID: w.AnswerID, Answers: answers(w.Answers), Response: w.Response, Reason: w.Reason, By: w.By.by(),
		At: w.At, Waited: time.Duration(w.WaitedMS) * time.Millisecond,
	}
	if w.CancelledBy != nil {
		o.CancelledBy = new(ask.CancelledBy(*w.CancelledBy))
	}
	if w.Ask != nil {
		o.Ask = new(w.Ask.ask())
		o.Ask.Tenant, o.Ask.Session = o.Tenant, o.Session
	}
	return o
}

// EncodeReply is the data of an answer event.
func EncodeReply(askID string, r ask.Reply) ([]byte, error) {
	return marshal(replyJSON{AskID: askID, AnswerID: r.AnswerID, Answers: wireAnswers(r.Answers), Response: r.Response, By: wireBy(&r.By)})
}

// DecodeReply reads the data of an answer event, strictly, for the ask askID.
func DecodeReply(data []byte, askID string) (ask.Reply, error) {
	var w replyJSON
	if err := Strict("answer", data, &w); err != nil {
		return ask.Reply{}, err
	}
	by, err := checkHead("answer", askID, w.AskID, w.AnswerID, w.By)
	return ask.Reply{AnswerID: w.AnswerID, Answers: answers(w.Answers), Response: w.Response, By: by}, err
}

// EncodeDecline is the data of a cancel event.
func EncodeDecline(askID, answerID, reason string, by ask.By) ([]byte, error) {
	return marshal(declineJSON{AskID: askID, AnswerID: answerID, Reason: reason, By: wireBy(&by)})
}

// DecodeDecline reads the data of a cancel event, strictly: a reply without
// answers, and the reason.
func DecodeDecline(data []byte, askID string) (r ask.Reply, reason string, err error) {
	var w declineJSON
	if err := Strict("cancel", data, &w); err != nil {
		return ask.Reply{}, "", err
	}
	by, err := checkHead("cancel", askID, w.AskID, w.AnswerID, w.By)
	if err == nil {
		err = checkReason("cancel", w.Reason)
	}
	return ask.Reply{AnswerID: w.AnswerID, By: by}, w.Reason, err
}

// EncodeEnd is the data of a withdraw or abort event.
func EncodeEnd(askID, reason string) ([]byte, error) { return marshal(endJSON{askID, reason}) }

// DecodeEnd reads the data of a withdraw or abort event, strictly.
func DecodeEnd(what string, data []byte, askID string) (reason string, err error) {
	var w endJSON
	if err := Strict(what, data, &w); err != nil {
		return "", err
	}
	if f := checkID(askID, w.AskID); f != nil {
		return "", ask.InvalidError(what, f)
	}
	return w.Reason, checkReason(what, w.Reason)
}

// EncodeReceipt is the data of a receipt event.
func EncodeReceipt(askID string, r ask.Receipt) ([]byte, error) {
	w := wireReceipt(r)
	w.AskID = askID
	return marshal(w)
}

// DecodeReceipt reads the data of a receipt event, strictly.
func DecodeReceipt(data []byte, askID string) (ask.Receipt, error) {
	var w receiptJSON
	if err := Strict("receipt", data, &w); err != nil {
		return ask.Receipt{}, err
	}
	f := checkID(askID, w.AskID)
	switch ask.ReceiptState(w.State) {
	case ask.ReceiptPosting, ask.ReceiptPosted, ask.ReceiptFailed:
	default:
		f = append(f, ask.Fault{Pointer: "/state", Message: "use posting, posted or failed"})
	}
	if w.Seq == 0 {
		f = append(f, ask.Fault{Pointer: "/seq", Message: "is missing; give the sequence of the question that was shown"})
	}
	if utf8.RuneCountInString(w.Key) > ask.MaxName {
		f = append(f, ask.Fault{Pointer: "/key", Message: fmt.Sprintf("is longer than %d characters", ask.MaxName)})
	}
	if utf8.RuneCountInString(w.Where) > ask.MaxText {
		f = append(f, ask.Fault{Pointer: "/where", Message: fmt.Sprintf("is longer than %d characters", ask.MaxText)})
	}
	return w.receipt(), ask.InvalidError("receipt", f)
}

// ReadReceipt reads a receipt that the ledger holds.
func ReadReceipt(data []byte) (ask.Receipt, error) {
	var w receiptJSON
	if err := unmarshal(data, &w); err != nil {
		return ask.Receipt{}, fmt.Errorf("read receipt: %w", err)
	}
	return w.receipt(), nil
}

// checkID sees that the body names the ask of its subject.
func checkID(want, got string) []ask.Fault {
	switch got {
	case want:
		return nil
	case "":
		return []ask.Fault{{Pointer: "/ask_id", Message: fmt.Sprintf("is missing; the subject says %q", want)}}
	default:
		return []ask.Fault{{Pointer: "/ask_id", Message: fmt.Sprintf("is %.80q, but the subject says %q; they must agree", got, want)}}
	}
}

func checkHead(what, wantID, gotID, answerID string, by *byJSON) (ask.By, error) {
	f := checkID(wantID, gotID)
	if answerID == "" || utf8.RuneCountInString(answerID) > 128 {
		f = append(f, ask.Fault{Pointer: "/answer_id", Message: "must be 1 to 128 characters: the same id again is the same reply"})
	}
	if by == nil || by.Principal == "" {
		f = append(f, ask.Fault{Pointer: "/by/principal", Message: "is missing; say who acted, as you have proven it"})
	}
	if by != nil {
		for _, v := range []struct{ at, value string }{{"/by/principal", by.Principal}, {"/by/name", by.Name}, {"/by/proof", by.Proof}} {
			if len([]rune(v.value)) > ask.MaxName {
				f = append(f, ask.Fault{Pointer: v.at, Message: fmt.Sprintf("is longer than %d characters", ask.MaxName)})
			}
		}
		if len(by.Groups) > ask.MaxGroups {
			f = append(f, ask.Fault{Pointer: "/by/groups", Message: fmt.Sprintf("has %d groups; give at most %d", len(by.Groups), ask.MaxGroups)})
		}
	}
	if len(f) > 0 {
		return ask.By{}, ask.InvalidError(what, f)
	}
	return *by.by(), nil
}

func checkReason(what, reason string) error {
	if len([]rune(reason)) > ask.MaxText {
		return ask.InvalidError(what, []ask.Fault{{Pointer: "/reason", Message: fmt.Sprintf("is longer than %d characters", ask.MaxText)}})
	}
	return nil
}
