package email

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"
)

// Bounds of what is received.
const (
	maxMail       = 1 << 20 // bytes of one mail
	maxDeliveries = 20      // conversations at once
	receiveFor    = 30 * time.Second
	handleFor     = 20 * time.Second // one mail
)

// receive takes what the own mail server delivers, until ctx ends.
func (s *App) receive(ctx context.Context) error {
	lmtp, kind, address, err := network(s.opts.Receive)
	if err != nil {
		return fmt.Errorf("ASKBUS_EMAIL_RECEIVE: %w", err)
	}
	if info, err := os.Stat(address); kind == "unix" && err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(address) // of a process that died; else listening fails
	}
	var with net.ListenConfig
	ln, err := with.Listen(ctx, kind, address)
	if err != nil {
		return fmt.Errorf("ASKBUS_EMAIL_RECEIVE: %w", err)
	}
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		if !s.mayDeliver(c.Conn().RemoteAddr()) {
			return nil, fault(554, smtp.EnhancedCode{5, 7, 1}, "only the own mail server delivers here")
		}
		return &delivery{app: s, ctx: ctx}, nil
	}))
	_, srv.Domain, _ = strings.Cut(s.opts.Reply, "@")
	srv.LMTP, srv.MaxMessageBytes, srv.MaxRecipients, srv.ReadTimeout, srv.WriteTimeout = lmtp, maxMail, 1, receiveFor, receiveFor
	srv.ErrorLog = smtpLog{s.Log}
	stop := context.AfterFunc(ctx, func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
		defer cancel()
		if srv.Shutdown(drain) != nil {
			_ = srv.Close()
		}
	})
	defer stop()
	err = srv.Serve(netutil.LimitListener(ln, maxDeliveries))
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("replies by mail: %w", err)
}

// fault is a refusal, in words for the administrator of the mail server.
func fault(code int, enhanced smtp.EnhancedCode, words string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: words}
}

// mayDeliver reports whether a peer is a server whose word on senders counts.
func (s *App) mayDeliver(peer net.Addr) bool {
	if peer.Network() == "unix" {
		return true // the file's permissions decide
	}
	if len(s.opts.Servers) == 0 {
		return httpserver.LoopbackHost(peer.String())
	}
	at, err := netip.ParseAddrPort(peer.String())
	for _, one := range s.opts.Servers {
		if net, bad := netip.ParsePrefix(one); err == nil && bad == nil && net.Contains(at.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// delivery is one conversation with the own mail server.
type delivery struct {
	app      *App
	ctx      context.Context //nolint:containedctx // go-smtp gives none
	from, to string
}

// Mail notes the sender; empty: a report of a mail server.
func (d *delivery) Mail(from string, _ *smtp.MailOptions) error {
	d.from = from
	return nil
}

// Rcpt takes addresses that a mail of this surface has given to somebody, and the one of which they are made.
func (d *delivery) Rcpt(to string, _ *smtp.RcptOptions) error {
	if _, _, ok := d.app.parseReplyAddress(to); !ok && !d.app.plain(to) {
		return fault(550, smtp.EnhancedCode{5, 1, 1}, "no mail of askbus has this address for replies")
	}
	d.to = to
	return nil
}

// plain reports whether an address is that of replies, without what names a mail.
func (s *App) plain(to string) bool { return strings.EqualFold(to, s.opts.Reply) }

// Data takes a mail. An error that may pass makes the server try again later.
func (d *delivery) Data(r io.Reader) error {
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), handleFor)
	defer cancel()
	take := d.app.received
	if d.app.plain(d.to) {
		take = d.app.askedToLink
	}
	err := take(ctx, d.from, d.to, raw.Bytes())
	if refused, ok := errors.AsType[*smtp.SMTPError](err); ok {
		return refused
	}
	if err != nil {
		d.app.Log.WarnContext(ctx, "a mail could not be handled; the mail server tries again", slog.String("error", err.Error()))
		return fault(451, smtp.EnhancedCode{4, 3, 0}, "askbus cannot be reached; try again later")
	}
	return nil
}

// Reset begins the next mail.
func (d *delivery) Reset() { d.from, d.to = "", "" }

// Logout ends the conversation.
func (d *delivery) Logout() error { return nil }

// smtpLog passes errors of the library on.
type smtpLog struct{ log *slog.Logger }

func (l smtpLog) Printf(format string, v ...any) {
	l.log.Info("a delivery of mail failed", slog.String("error", fmt.Sprintf(format, v...)))
}

func (l smtpLog) Println(v ...any) {
	l.log.Info("a delivery of mail failed", slog.String("error", fmt.Sprint(v...)))
}
