package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// message identifies a message by channel and timestamp. The team's id is not part of it: in a grid
// the click's differs from the post's.
type message struct {
	Channel string
	TS      string
	Thread  string // first message of its thread, if any
}

// ref encodes a message for a receipt.
func (m message) ref() string {
	s := m.Channel + "/" + m.TS
	if m.Thread != "" {
		s += "/" + m.Thread
	}
	return s
}

func parseMessage(ref string) (message, bool) {
	parts := strings.Split(ref, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return message{}, false
	}
	m := message{Channel: parts[0], TS: parts[1]}
	if len(parts) == 3 {
		m.Thread = parts[2]
	}
	return m, true
}

// target is what a button refers to: an ask in one of its lives, a question and an option. The
// button carries it, so that any replica can handle it.
type target struct {
	Key    ask.Key
	Life   string
	Q      int
	Option string // id; empty for a whole question
}

// String encodes the target as a button's value of at most 2,000 characters.
func (t target) String() string { return t.block() + "/" + t.Option }

// block encodes the target without its option as a block's id of at most 255 characters.
func (t target) block() string {
	return strings.Join([]string{t.Key.Tenant, t.Key.Session, t.Key.ID, t.Life, strconv.Itoa(t.Q)}, "/")
}

// parseTarget parses a button's value or a block's id.
func parseTarget(s string) (target, bool) {
	parts := strings.SplitN(s, "/", 6)
	if len(parts) < 5 {
		return target{}, false
	}
	q, err := strconv.Atoi(parts[4])
	t := target{Key: ask.Key{Tenant: parts[0], Session: parts[1], ID: parts[2]}, Life: parts[3], Q: q}
	if len(parts) == 6 {
		t.Option = parts[5]
	}
	return t, err == nil && q >= 0 && t.Key.Valid()
}

// answerID derives the id of an answer from where and when it was given, so that a repeated
// delivery is the same answer on every replica.
func answerID(channel, ts, eventTS, user string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"slack", channel, ts, eventTS, user}, "\x00")))
	return "slack-" + hex.EncodeToString(sum[:16])
}
