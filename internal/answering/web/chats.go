package web

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// ChatsPath is the page with which a person says which members of chats they are. A
// code may follow it: a chat's bot makes such links.
const ChatsPath = "/account/chats"

// chatsPage is the page "Your chats".
type chatsPage struct {
	Me, As, Now, Problem string
	Code                 string    // of Would
	Would                *chatLine // who would be linked; nil: nobody asked
	Lines                []chatLine
	Linked               string // who was just linked

	made  *ask.Link // that link, of which the replica may not have heard yet
	ended string    // principal of a link that was just ended, likewise
}

// chatLine is a member of a chat.
type chatLine struct{ Chat, Name, Principal, Tenant, Since string }

// Line returns it as one line: "Telegram: Ana (telegram:4711)". The chat's name for
// them is anybody's choice; the principal is not.
func (c *chatLine) Line() string {
	if c.Name == "" {
		return c.Chat + ": " + c.Principal
	}
	return c.Chat + ": " + c.Name + " (" + c.Principal + ")"
}

var codeForm = regexp.MustCompile(`^[0-9A-Za-z-]{8,24}$`)

// showChats lists the members of chats that a person is. With a code it says who would
// be added, and adds nobody: programs that look at messages follow links.
func (s *Server) showChats(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	code := r.PathValue("code")
	if code == "" {
		code = strings.TrimSpace(r.URL.Query().Get("code")) // typed
	}
	p := chatsPage{}
	if code != "" {
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		l, err := s.opts.Links.Claimed(ctx, me.By, code)
		if err != nil {
			p.Problem = refusedWords(me, err)
			s.drawChats(w, http.StatusUnprocessableEntity, me, p)
			return
		}
		p.Code, p.Would = code, new(s.chatLine(me, &l))
	}
	s.drawChats(w, http.StatusOK, me, p)
}

func refusedWords(me board.Viewer, err error) string {
	return say(me, "Nothing was changed: %s", ask.CleanLine(wire.AsError(err).In(me.Language).Error()))
}

func (s *Server) drawChats(w http.ResponseWriter, status int, me board.Viewer, p chatsPage) {
	p.Me, p.As, p.Now = card.Name(me.By), me.By.Principal, card.Moment{At: s.opts.Now()}.Stamp()
	for _, one := range s.opts.Links.Of(me.By) {
		if one.Principal == p.ended {
			continue
		}
		if p.made != nil && one.Principal == p.made.Principal {
			p.made = nil
		}
		p.Lines = append(p.Lines, s.chatLine(me, &one))
	}
	if p.made != nil {
		p.Lines = append(p.Lines, s.chatLine(me, p.made))
	}
	s.render(w, status, "chats", p)
}

func (s *Server) chatLine(me board.Viewer, l *ask.Link) chatLine {
	kind, _, _ := strings.Cut(l.Principal, ":")
	if kind == "mailto" {
		kind = "e-mail"
	}
	line := chatLine{Chat: strings.ToUpper(kind[:min(1, len(kind))]) + kind[min(1, len(kind)):], Name: ask.CleanLine(l.Name), Principal: ask.CleanLine(l.Principal), Tenant: l.Tenant}
	if !l.Since.IsZero() {
		line.Since = viewer(me).When(l.Since, s.opts.Now(), card.Ago).Words
	}
	return line
}

// setChats links a member of a chat with this person, or ends a link.
func (s *Server) setChats(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	refuse := func(status int, words string) { s.drawChats(w, status, me, chatsPage{Problem: words}) }
	if r.PostFormValue("as") != me.By.Principal {
		refuse(http.StatusConflict, say(me, "You are now signed in as somebody else than when this page was opened. Check again who would be linked."))
		return
	}
	if end := r.PostFormValue("end"); end != "" {
		if err := s.opts.Links.Unlink(ctx, me.By, end); err != nil {
			refuse(http.StatusUnprocessableEntity, refusedWords(me, err))
			return
		}
		s.drawChats(w, http.StatusOK, me, chatsPage{ended: end})
		return
	}
	l, err := s.opts.Links.Link(ctx, me.By, r.PostFormValue("code"))
	if err != nil {
		refuse(http.StatusUnprocessableEntity, refusedWords(me, err))
		return
	}
	line := s.chatLine(me, &l)
	s.drawChats(w, http.StatusOK, me, chatsPage{Linked: line.Line(), made: &l})
}
