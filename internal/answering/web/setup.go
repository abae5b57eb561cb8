package web

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"rsc.io/qr"
)

// Setup finds and connects what is on this machine, for the person who runs
// askbus on it. It is safe for concurrent use, and changes nothing by itself.
type Setup interface {
	// Agents returns the coding agents that are installed here.
	Agents() []LocalAgent
	// Chats returns the chats that could be connected.
	Chats() []LocalChat
	// Connect connects an agent, and says what it did.
	Connect(ctx context.Context, name string) (done string, err error)
	// Try asks a test question with two options or more.
	Try(ctx context.Context, question string, options ...string) (ask.Key, error)
}

// LocalAgent is a coding agent that is installed on this machine.
type LocalAgent struct {
	Name, Title string
	Command     string // connects it
	Connected   bool
	ByHand      bool // the command is run by the person, such as in a project
}

// LocalChat is a chat, and whether its settings are there.
type LocalChat struct {
	Title, Command string
	Set            bool
}

// SetupPath is the page of the first steps, for the person of this machine.
const SetupPath = "/setup"

// setupPage is the page of the first steps.
type setupPage struct {
	Me, Now, PushKey string
	Agents           []LocalAgent
	Chats            []LocalChat
	Connected        bool   // an agent is
	Done, Problem    string // of the button that was pressed
	Phone            *phoneStep
	Asked, Answered  string // the path of the test question; how it ended
}

// phoneStep is how a phone gets to this inbox.
type phoneStep struct {
	Reachable   bool
	QR          template.URL // of a sign-in link; empty: not asked for yet
	Fingerprint string       // of a certificate that the phone does not know
	Command     string       // that makes the inbox reachable
	Warns       bool         // the phone will warn
}

// fromHere reports whether a request comes from the person who runs askbus on
// this machine, and from the machine itself: no proxy, no tunnel, nobody else.
func (s *Server) fromHere(r *http.Request, me board.Viewer) bool {
	if s.opts.Setup == nil || me.Access != nil || me.By.Principal != s.opts.Identity.Principal || me.By.Proof != s.opts.Identity.Proof {
		return false
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	at := peer.Addr().Unmap()
	if at.IsLoopback() {
		return true
	}
	own, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && own.AddrPort().Addr().Unmap() == at
}

// setup shows the first steps.
func (s *Server) setup(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	s.drawSetup(w, r, me, http.StatusOK, func(*setupPage) {})
}

// setupStep carries out the button of a step.
func (s *Server) setupStep(w http.ResponseWriter, r *http.Request, me board.Viewer) {
	if !s.fromHere(r, me) {
		s.noPage(w, me)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	switch step := r.PathValue("step"); step {
	case "connect":
		done, err := s.opts.Setup.Connect(ctx, r.PostFormValue("name"))
		s.drawSetup(w, r, me, statusOf(err), func(p *setupPage) { p.Done = done; p.fail(s, me, step, err) })
	case "try":
		k, err := s.opts.Setup.Try(ctx, say(me, "Does this question reach you?"), say(me, "Yes, here"), say(me, "Yes, but I looked for it"))
		if err == nil {
			http.Redirect(w, r, SetupPath+"?"+url.Values{"asked": {k.String()}}.Encode()+"#try", http.StatusSeeOther)
			return
		}
		s.drawSetup(w, r, me, statusOf(err), func(p *setupPage) { p.fail(s, me, step, err) })
	case "phone":
		s.drawSetup(w, r, me, http.StatusOK, func(p *setupPage) {
			if !p.Phone.Reachable {
				return
			}
			link, err := LoginLink(s.opts.CookieKey, s.base.String(), me.By, s.opts.Now())
			if err == nil {
				p.Phone.QR, err = qrImage(link)
			}
			p.fail(s, me, step, err)
		})
	default:
		s.noPage(w, me)
	}
}

func statusOf(err error) int {
	if err != nil {
		return http.StatusBadGateway
	}
	return http.StatusOK
}

func (p *setupPage) fail(s *Server, me board.Viewer, step string, err error) {
	if err != nil {
		s.opts.Logger.Warn("a step of the setup failed", slog.String("step", step), slog.Any("error", err))
		p.Problem = say(me, "Not done: %s.", strings.TrimRight(ask.CleanLine(err.Error()), "."))
	}
}

// drawSetup draws the page, as it is now.
func (s *Server) drawSetup(w http.ResponseWriter, r *http.Request, me board.Viewer, status int, change func(*setupPage)) {
	if !s.fromHere(r, me) {
		s.plain(w, http.StatusNotFound, plainPage{
			Me: card.Name(me.By), Title: say(me, "This page is for the machine itself"), Back: true,
			Lines: []string{say(me, "The first steps are shown to the person who runs “askbus up”, in a browser on the same machine.")},
		})
		return
	}
	p := setupPage{Me: card.Name(me.By), Now: card.Moment{At: s.opts.Now()}.Stamp(), PushKey: s.pushKey(), Agents: s.opts.Setup.Agents(), Chats: s.opts.Setup.Chats()}
	for _, a := range p.Agents {
		p.Connected = p.Connected || a.Connected
	}
	p.Phone = &phoneStep{
		Reachable: s.opts.Host == "" && !httpserver.LoopbackHost(s.base.Host), Fingerprint: s.opts.Fingerprint, Command: s.command("up --tls --http-addr 0.0.0.0:8420"),
		Warns: s.opts.Fingerprint != "",
	}
	if k, ok := ask.ParseKey(r.URL.Query().Get("asked")); ok {
		if record, err := s.record(r.Context(), me, k); err == nil {
			p.Asked = askPath(k)
			if record.Outcome != nil {
				p.Answered = card.NewEnd(&record, viewer(me), s.opts.Now()).Sentence
			}
		}
	}
	change(&p)
	s.render(w, status, "setup", p)
}

// qrImage draws a text as a QR code.
func qrImage(text string) (template.URL, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", err
	}
	code.Scale = 6
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(code.PNG())), nil // an image that was just drawn
}
