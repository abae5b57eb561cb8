package email_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/emersion/go-smtp"
)

// replying makes the surface take replies at a socket.
func (s *surface) replying() {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "mail") // the path of a socket is short
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.opts.Reply, s.opts.Receive, s.opts.AuthServ = "ask@mail.example.net", "lmtp+unix://"+filepath.Join(dir, "lmtp"), "mx.example.net"
}

func replying(t *testing.T, change func(*surface)) *world {
	t.Helper()
	return newWorld(t, func(s *surface) {
		s.replying()
		if change != nil {
			change(s)
		}
	})
}

const authentic = "Authentication-Results: mx.example.net; dkim=pass header.d=example.com\r\nReceived: from out.example.com by mx.example.net; Mon, 1 Jan 2026 10:00:00 +0000\r\n"

// deliver delivers a mail as the own mail server does.
func (s *surface) deliver(sender, to, mail string) error {
	s.t.Helper()
	var conn net.Conn
	natstest.Eventually(s.t, "the socket", func() (ok bool) {
		var err error
		conn, err = (&net.Dialer{}).DialContext(s.t.Context(), "unix", strings.TrimPrefix(s.opts.Receive, "lmtp+unix://"))
		return err == nil
	})
	c := smtp.NewClientLMTP(conn)
	defer c.Close()
	if err := c.Mail(sender, nil); err != nil {
		return err
	}
	if err := c.Rcpt(to, nil); err != nil {
		return err
	}
	data, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := data.Write([]byte(mail)); err != nil {
		return err
	}
	return data.Close()
}

// reply delivers a person's reply with further header fields at the top.
func (s *surface) reply(from string, q *fakemail.Mail, id, header, words string) {
	s.t.Helper()
	to := q.From // the envelope's sender is the address of replies
	mail := header + "From: " + from + "\r\nTo: " + to + "\r\nSubject: Re: question\r\nMessage-ID: <" + id + "@example.com>\r\n\r\n" + words + "\r\n\r\nOn Monday askbus wrote:\r\n> " + strings.ReplaceAll(q.Text, "\n", "\r\n> ") + "\r\n"
	if err := s.deliver(strings.Trim(from, "<>"), to, mail); err != nil {
		s.t.Errorf("the reply %s is refused: %v", id, err)
	}
}

// told waits for the mail that says what became of a reply.
func (w *world) told(to, words string) fakemail.Mail {
	w.T.Helper()
	return w.mail(to, "a mail with "+words, func(m *fakemail.Mail) bool {
		return m.Header.Get("Auto-Submitted") == "auto-replied" && strings.Contains(m.Text, words)
	})
}

func TestAReplyAnswersIfTheServerVouchesForIt(t *testing.T) {
	t.Parallel()
	w := replying(t, nil)
	k := w.Ask(database("a1"))
	q := w.question(tom, "a1")
	if q.Header.Get("Reply-To") != "<"+q.From+">" || !strings.HasPrefix(q.From, "ask+") {
		t.Errorf("replies go to %q, the envelope's sender is %q", q.Header.Get("Reply-To"), q.From)
	}
	w.reply(tom, &q, "r1", "", "2")
	w.told(tom, "DKIM")
	w.reply(tom, &q, "r2", strings.Replace(authentic, "pass", "fail", 1), "2")
	w.reply(ann, &q, "r3", authentic, "2")                                    // who did not get this mail
	w.reply(tom, &q, "r4", authentic+"Auto-Submitted: auto-replied\r\n", "2") // out of office
	w.reply(tom, &q, "r5", authentic, "what?")
	w.told(tom, "not understood")
	w.reply(tom, &q, "r6", authentic, "")
	w.told(tom, "no words")
	if rec := w.Get(k.ID); rec.Outcome != nil {
		t.Fatalf("answered by %+v", rec.Outcome)
	}
	w.reply(tom, &q, "r7", authentic, "2")
	o := w.Wait(k.ID)
	if o.By.Principal != "chat:tom" || o.By.Proof != ask.ProofEmail || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("%+v by %+v", o.Answers, o.By)
	}
	before := len(w.fake.Mails())
	w.reply(tom, &q, "r7", authentic, "2") // delivered again
	w.reply(tom, &q, "r8", authentic, "1")
	w.told(tom, "Answered already: You chose SQLite at ")
	if n := len(w.fake.Mails()) - before; n > 3 { // late, and the two mails about the outcome
		t.Errorf("%d more mails", n)
	}
}

func TestAReplyIsToldAFewTimesOnly(t *testing.T) {
	t.Parallel()
	w := replying(t, nil)
	w.Ask(database("a1"))
	q := w.question(tom, "a1")
	for i := range 8 {
		w.reply(tom, &q, string(rune('a'+i)), authentic, "I am a robot that hides")
	}
	told := 0
	for _, m := range w.fake.Mails() {
		if m.Header.Get("Auto-Submitted") == "auto-replied" {
			told++
		}
	}
	if told != 5 {
		t.Errorf("told %d times", told)
	}
}

func TestReceivingIsBounded(t *testing.T) {
	t.Parallel()
	w := replying(t, nil)
	w.Ask(database("a1"))
	q := w.question(tom, "a1")
	for _, to := range []string{"ask@mail.example.net", "ask+aaaa@mail.example.net", "root@mail.example.net"} {
		if e, ok := errors.AsType[*smtp.SMTPError](w.deliver(tom, to, "x")); !ok || e.Code != 550 {
			t.Errorf("%s is taken", to)
		}
	}
	if err := w.deliver(tom, q.From, "Subject: x\r\n\r\n"+strings.Repeat(strings.Repeat("a", 70)+"\r\n", 20_000)); err == nil {
		t.Error("a mail of 1.4 MB is taken")
	}
	if err := w.deliver(tom, q.From, "no header"); err != nil {
		t.Errorf("what cannot be read comes back: %v", err)
	}
}

const dsn = "From: MAILER-DAEMON@mx.example.net\r\nTo: %s\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\nAuto-Submitted: auto-replied\r\n\r\n" +
	"--b\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.net\r\n\r\n" +
	"Final-Recipient: rfc822; tom@example.com\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n\r\n--b--\r\n"

func TestAMailThatComesBackVoidsTheReceipt(t *testing.T) {
	t.Parallel()
	w := replying(t, func(s *surface) { s.opts.Routes.Default = chat.Target{Person: tom} })
	k := w.Ask(database("a1"))
	q := w.question(tom, "a1")
	posted := func(state ask.ReceiptState) func() bool {
		return func() bool {
			for _, r := range w.Get(k.ID).Receipts {
				if r.Type == "email" && r.State == state {
					return true
				}
			}
			return false
		}
	}
	natstest.Eventually(t, "the receipt", posted(ask.ReceiptPosted))
	for _, r := range w.Get(k.ID).Receipts {
		for _, at := range r.Places {
			if strings.Contains(at.Ref+at.Where, "example.com") {
				t.Errorf("an agent reads the address in %+v", at)
			}
		}
	}
	if err := w.deliver("", q.From, strings.Replace(dsn, "failed", "delayed", 1)); err != nil {
		t.Fatal(err)
	}
	if !posted(ask.ReceiptPosted)() {
		t.Error("a delayed mail voids the receipt")
	}
	if err := w.deliver("", q.From, dsn); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the receipt is void", posted(ask.ReceiptFailed))
	found := w.app().Doctor(t.Context())
	words := ""
	for _, f := range found {
		words += f.What + ": " + f.Words + "\n"
	}
	if !strings.Contains(words, tom) || !strings.Contains(words, "550 5.1.1 no such user") {
		t.Errorf("the doctor says %s", words)
	}
	if n := len(w.fake.Mails()); n != 1 {
		t.Errorf("%d mails", n)
	}
}
