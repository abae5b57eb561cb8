package fakeslack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scheduled is a message that the app lets Slack post later. The fake never posts it.
type Scheduled struct {
	ID, Channel, Thread, Text string
	Broadcast                 bool
	At                        time.Time
}

// maxAhead is how far ahead Slack schedules a message.
const maxAhead = 120 * 24 * time.Hour

func (s *Server) chatSchedule(a args) (reply, error) {
	c, err := s.writable(a.text("channel"))
	if err != nil {
		return nil, err
	}
	at, err := strconv.ParseInt(a.text("post_at"), 10, 64)
	now := s.opts.Clock.Now()
	switch {
	case err != nil:
		return nil, fail("invalid_time")
	case !time.Unix(at, 0).After(now):
		return nil, fail("time_in_past")
	case time.Unix(at, 0).After(now.Add(maxAhead)):
		return nil, fail("time_too_far")
	case strings.TrimSpace(a.text("text")) == "":
		return nil, fail("no_text")
	}
	s.seq++
	one := Scheduled{fmt.Sprint("Q", s.seq), c.ID, a.text("thread_ts"), a.text("text"), a.flag("reply_broadcast"), time.Unix(at, 0)}
	s.scheduled = append(s.scheduled, one)
	return reply{"channel": c.ID, "scheduled_message_id": one.ID, "post_at": at}, nil
}

func (s *Server) chatScheduledList(a args) (reply, error) {
	oldest, _ := strconv.ParseInt(a.text("oldest"), 10, 64)
	latest, _ := strconv.ParseInt(a.text("latest"), 10, 64)
	list := []any{}
	for _, one := range s.scheduled {
		if at := one.At.Unix(); one.Channel == a.text("channel") && at >= oldest && (latest == 0 || at <= latest) {
			list = append(list, map[string]any{"id": one.ID, "channel_id": one.Channel, "post_at": at, "text": one.Text})
		}
	}
	return reply{"scheduled_messages": list}, nil
}

func (s *Server) chatUnschedule(a args) (reply, error) {
	before := len(s.scheduled)
	s.scheduled = slices.DeleteFunc(s.scheduled, func(one Scheduled) bool {
		return one.Channel == a.text("channel") && one.ID == a.text("scheduled_message_id")
	})
	if len(s.scheduled) == before {
		return nil, fail("invalid_scheduled_message_id")
	}
	return reply{}, nil
}

// Scheduled lists what is scheduled.
func (s *Server) Scheduled() []Scheduled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.scheduled)
}
