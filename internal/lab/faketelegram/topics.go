package faketelegram

import (
	"errors"
	"slices"
	"unicode/utf8"
)

// Topic is a topic of a forum.
type Topic struct {
	ID              int
	Name            string
	Closed, Deleted bool
}

// SetForum makes a chat a forum, in which the bot may manage topics.
func (s *Server) SetForum(chat int64) {
	s.locked(func() {
		if s.forums == nil {
			s.forums = map[int64][]*Topic{}
		}
		s.forums[chat] = []*Topic{}
	})
}

// Topics returns the topics of a chat.
func (s *Server) Topics(chat int64) (all []Topic) {
	s.locked(func() {
		for _, t := range s.forums[chat] {
			all = append(all, *t)
		}
	})
	return all
}

// EndTopic closes or deletes a topic.
func (s *Server) EndTopic(chat int64, id int, deleted bool) {
	s.locked(func() {
		for _, t := range s.forums[chat] {
			if t.ID == id {
				t.Closed, t.Deleted = true, deleted
			}
		}
	})
}

// mayWrite refuses a message in a topic that is not there any more. The caller holds the lock.
func (s *Server) mayWrite(chat int64, topic int) error {
	all, forum := s.forums[chat]
	if !forum || topic == 0 {
		return nil
	}
	i := slices.IndexFunc(all, func(t *Topic) bool { return t.ID == topic })
	switch {
	case i < 0 || all[i].Deleted:
		return errors.New("Bad Request: message thread not found")
	case all[i].Closed:
		return errors.New("Bad Request: TOPIC_CLOSED")
	}
	return nil
}

func (s *Server) createTopic(chat int64, name string) (any, error) {
	all, forum := s.forums[chat]
	switch {
	case s.members[chat] == nil:
		return nil, errors.New("Bad Request: chat not found")
	case !forum:
		return nil, errors.New("Bad Request: the chat is not a forum")
	case name == "" || utf8.RuneCountInString(name) > 128:
		return nil, errors.New("Bad Request: TOPIC_TITLE_INVALID")
	}
	t := &Topic{ID: 1000 + len(all), Name: name}
	s.forums[chat] = append(all, t)
	return map[string]any{"message_thread_id": t.ID, "name": name, "icon_color": 7322096}, nil
}
