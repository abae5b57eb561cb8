package email_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/emersion/go-smtp"
)

const plainReply = "ask@mail.example.net"

// linking is e-mail with replies and an inbox to which codes lead.
func linking(t *testing.T) *world {
	t.Helper()
	return replying(t, func(s *surface) { s.opts.Inbox = chattest.LinkInbox })
}

// codesOf returns the codes that were mailed to an address, and to all others.
func (w *world) codesOf(to string) (codes, others []string) {
	for _, m := range w.fake.Mails() {
		if c := chattest.LinkCode(m.Text); c != "" && m.To == to {
			codes = append(codes, c)
		} else if c != "" {
			others = append(others, c)
		}
	}
	return codes, others
}

// writes delivers a mail to the plain address of replies.
func (w *world) writes(from, id, header, subject, words string) error {
	w.T.Helper()
	return w.deliver(from, plainReply, header+"From: Somebody <"+from+">\r\nTo: "+plainReply+"\r\nSubject: "+subject+"\r\nMessage-ID: <"+id+"@example.com>\r\n\r\n"+words+"\r\n")
}

// Who mails "link" gets a code at the address of which the own server says that it is authentic, once for each mail. What
// is not vouched for, from somebody who gets no mails, or says something else is refused; programs are ignored.
func TestAnAddressAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := linking(t)
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*smtp.SMTPError](err); !ok || e.Code != 550 {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("not vouched for", w.writes(tom, "m1", "", "link", "link"))
	refused("a forged result below", w.writes(tom, "m2", "Received: from evil.example by mx.example.net; x\r\nReceived: from evil.example by evil.example; x\r\n"+authentic, "link", "link"))
	refused("another domain's signature", w.writes("tom@example.org", "m3", authentic, "link", "link"))
	refused("nobody that the operator allows", w.writes("eve@example.com", "m4", authentic, "link", "link"))
	refused("other words", w.writes(tom, "m5", authentic, "link", "please link me"))
	refused("not to this address", w.deliver(tom, plainReply, authentic+"From: "+tom+"\r\nTo: other@example.com\r\nMessage-ID: <m6@example.com>\r\n\r\nlink\r\n"))
	for _, program := range []string{"Auto-Submitted: auto-replied\r\n", "Precedence: bulk\r\n", "List-Id: <x>\r\n"} {
		if err := w.writes(tom, "m7", program+authentic, "link", "link"); err != nil {
			t.Errorf("%q comes back: %v", program, err)
		}
	}
	if err := w.writes(tom, "m8", authentic, "Out of office: link", "link"); err != nil {
		t.Errorf("out of office comes back: %v", err)
	}
	for range 3 { // the own server delivers it again, or somebody who has it
		if err := w.writes(tom, "m9", authentic, "hello", "Link\r\n\r\n-- \r\nTom"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.writes(ann, "m10", authentic, "link", ""); err != nil {
		t.Fatal(err)
	}
	codes, others := w.codesOf(tom)
	if len(codes) != 1 || len(others) != 1 {
		t.Fatalf("mailed %v, and others %v", codes, others)
	}
	w.Linked(codes[0], "mailto:"+tom)
	for _, date := range []string{"Thu, 26 Nov 2026 10:00:00 +0000", "Thu, 26 Nov 2026 10:05:00 +0000"} { // mails without a Message-ID are not one mail
		if err := w.deliver(tom, plainReply, "Date: "+date+"\r\n"+authentic+"From: "+tom+"\r\nTo: "+plainReply+"\r\n\r\nlink\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	if codes, _ = w.codesOf(tom); len(codes) != 3 {
		t.Errorf("%d codes after two mails without a Message-ID", len(codes))
	}
	for n, err := 0, error(nil); err == nil; n++ { // and so are mails without end
		if n > 5 {
			t.Fatal("6 codes")
		}
		err = w.writes(ann, "many"+string(rune('a'+n)), authentic, "link", "")
	}
}

// The page of a mail mails the code to the address of the mail, and shows it to nobody: not to whom the mail was forwarded.
func TestAPageAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := linking(t)
	w.Ask(database("a1"))
	m := w.question(tom, "a1")
	page := pageLink.FindString(m.Text)
	link := url.Values{"do": {"link"}}
	get(t, page+"?do=link")
	if codes, _ := w.codesOf(tom); len(codes) != 0 {
		t.Fatal("a GET mails a code")
	}
	status, body := post(t, page, link)
	codes, others := w.codesOf(tom)
	if status != http.StatusOK || len(codes) != 1 || len(others) != 0 || strings.Contains(body, codes[0]) || !strings.Contains(text(body), "A mail to "+tom) {
		t.Fatalf("status %d, mailed %v and %v, the page says %s", status, codes, others, text(body))
	}
	w.Linked(codes[0], "mailto:"+tom)
	if rec := w.Get("a1"); rec.State != ask.StatePending {
		t.Errorf("it is %s", rec.State)
	}
	noted := func() int {
		t.Helper()
		n, err := w.Bus.Ledger().CountState(t.Context(), subject.LedgerStateAll(subject.BucketMail, "", true))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := noted()
	for range 8 {
		status, body = post(t, page, link)
	}
	if n := noted() - before; n != 0 { // it would leave no room for those of questions
		t.Errorf("%d notes of mails that nobody sends again", n)
	}
	if codes, _ = w.codesOf(tom); status != http.StatusUnprocessableEntity || len(codes) != 5 || !strings.Contains(text(body), "You cannot be linked") {
		t.Errorf("status %d after 9 times, %d codes: %s", status, len(codes), text(body))
	}
	if status, _ = post(t, page[:len(page)-4], link); status != http.StatusNotFound {
		t.Errorf("a forged link: status %d", status)
	}
	post(t, stopLink.FindString(m.Text), url.Values{"do": {"stop"}})
	if status, body = post(t, page, link); status != http.StatusConflict || !strings.Contains(text(body), "gets no mail") {
		t.Errorf("who wants no mail: status %d, %s", status, text(body))
	}
}

// A reply that says "link" answers a question that has an option of this name.
func TestAnOptionIsCalledLink(t *testing.T) {
	t.Parallel()
	w := linking(t)
	w.Ask(chattest.OptionLink("a1"))
	q := w.question(tom, "What to do")
	if err := w.writes(tom, "m1", authentic, "link", "link"); err != nil {
		t.Fatal(err)
	}
	if codes, _ := w.codesOf(tom); len(codes) != 1 || w.Get("a1").State != ask.StatePending {
		t.Errorf("%d codes, it is %s", len(codes), w.Get("a1").State)
	}
	w.reply(tom, &q, "r1", authentic, "link")
	w.AnsweredLink("a1")
}
