package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Ref is what a control of a card refers to: an ask in one of its lives, a question and an option.
// The control carries it, so that any replica can handle it.
type Ref struct {
	Key    ask.Key
	Life   string
	Q      int
	Option string // id; empty for a whole question
}

// String encodes the reference in at most 2,000 characters.
func (r Ref) String() string { return r.Question() + "/" + r.Option }

// Question encodes the reference without its option in at most 255 characters.
func (r Ref) Question() string {
	return strings.Join([]string{r.Key.Tenant, r.Key.Session, r.Key.ID, r.Life, strconv.Itoa(r.Q)}, "/")
}

// ParseRef parses what [Ref.String] or [Ref.Question] returned.
func ParseRef(s string) (Ref, bool) {
	parts := strings.SplitN(s, "/", 6)
	if len(parts) < 5 {
		return Ref{}, false
	}
	q, err := strconv.Atoi(parts[4])
	r := Ref{Key: ask.Key{Tenant: parts[0], Session: parts[1], ID: parts[2]}, Life: parts[3], Q: q}
	if len(parts) == 6 {
		r.Option = parts[5]
	}
	return r, err == nil && q >= 0 && r.Key.Valid()
}

// AnswerID derives the id of an answer from where and when it was given and by whom, so that a
// repeated delivery is the same answer on every replica.
func AnswerID(typ string, parts ...string) string {
	sum := sha256.Sum256([]byte(typ + "\x00" + strings.Join(parts, "\x00")))
	return typ + "-" + hex.EncodeToString(sum[:16])
}

// Message identifies a message by its channel, and by its id in it. What else is in a click, such as a workspace, is not part of it: it may differ
// from the post's.
type Message struct {
	Channel string
	ID      string
	Thread  string // id of the first message of its thread, if any
}

// Ref encodes the message for a receipt; "" without an id.
func (m Message) Ref() string {
	switch {
	case m.ID == "":
		return ""
	case m.Thread == "":
		return m.Channel + "/" + m.ID
	}
	return m.Channel + "/" + m.ID + "/" + m.Thread
}

// ParseMessage parses what [Message.Ref] returned.
func ParseMessage(ref string) (m Message, ok bool) {
	parts := strings.Split(ref, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts[:2], "") {
		return m, false
	}
	return Message{parts[0], parts[1], strings.Join(parts[2:], "")}, true
}
