package sshserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/crypto/ssh"
)

// Limits of the terminal's size, which the client chooses.
const (
	maxWidth  = 500
	maxHeight = 200
	maxTerm   = 64
)

// session serves one terminal until its program ends or the client disconnects.
func (s *Server) session(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request, by ask.By) {
	defer channel.Close() //nolint:errcheck // may be closed already
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resized := make(chan [2]int, 1)
	t := Terminal{Channel: channel, By: by, Resized: resized}
	var done chan error
	for {
		select {
		case err := <-done:
			s.exit(ctx, channel, err)
			return
		case r, ok := <-requests:
			if !ok { // the client is gone
				if cancel(); done != nil {
					<-done //nolint:errcheck // the client is gone
				}
				return
			}
			took := false
			switch r.Type {
			case "pty-req":
				took = done == nil && t.pty(r.Payload)
			case "env":
				took = done == nil && t.env(r.Payload)
			case "window-change":
				var size struct{ Width, Height, X, Y uint32 }
				if took = ssh.Unmarshal(r.Payload, &size) == nil; took {
					w, h := bounded(size.Width, size.Height)
					select { // keep only the newest size
					case <-resized:
					default:
					}
					resized <- [2]int{w, h}
				}
			case "exec": // accepted, so that the client shows the sentence
				if took = done == nil; took {
					done = make(chan error, 1)
					done <- errors.New("there are no commands here, only the inbox: connect without one")
				}
			case "shell":
				if took = done == nil; took {
					done = make(chan error, 1)
					go func() { done <- s.serve(ctx, t) }()
				}
			}
			if r.WantReply {
				_ = r.Reply(took, nil)
			}
		}
	}
}

func (s *Server) serve(ctx context.Context, t Terminal) error {
	if t.Term == "" {
		return errors.New("this needs a terminal; call ssh with -t")
	}
	return s.opts.Serve(ctx, t)
}

// exit sends the exit status to the client.
func (s *Server) exit(ctx context.Context, channel ssh.Channel, err error) {
	code := uint32(0)
	if err != nil {
		code = 1
		s.opts.Logger.DebugContext(ctx, "an ssh terminal ended", slog.Any("error", err))
		fmt.Fprintf(channel.Stderr(), "askbus: %s\r\n", ask.CleanLine(err.Error()))
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
}

// pty parses a client's terminal.
func (t *Terminal) pty(payload []byte) bool {
	var pty struct {
		Term                string
		Width, Height, X, Y uint32
		Modes               string
	}
	if ssh.Unmarshal(payload, &pty) != nil || pty.Term == "" || len(pty.Term) > maxTerm || ask.CleanLine(pty.Term) != pty.Term {
		return false
	}
	t.Term = pty.Term
	t.Width, t.Height = bounded(pty.Width, pty.Height)
	return true
}

// env accepts only the variables that name a language or colors.
func (t *Terminal) env(payload []byte) bool {
	var env struct{ Name, Value string }
	if ssh.Unmarshal(payload, &env) != nil || len(env.Value) > maxTerm {
		return false
	}
	switch env.Name {
	case "LANG", "LC_ALL", "LC_MESSAGES", "COLORTERM", "COLORFGBG":
	default:
		return false
	}
	if t.Env == nil {
		t.Env = map[string]string{}
	}
	t.Env[env.Name] = env.Value
	return true
}

func bounded(width, height uint32) (w, h int) {
	if width == 0 || height == 0 {
		return 80, 24
	}
	return int(min(width, maxWidth)), int(min(height, maxHeight))
}
