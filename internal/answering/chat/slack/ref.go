package slack

import (
	"strconv"
	"strings"
	"time"
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

// at returns when a message was posted, by Slack's clock, to the second.
func (m message) at() time.Time {
	seconds, _, _ := strings.Cut(m.TS, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
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
