package email_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
)

const mailboxPassword = "of-every-mailbox"

// dovecot starts a real dovecot with a directory of its own: it takes mail over LMTP into a mailbox for each address, and
// shows it over IMAP.
func dovecot(t *testing.T) (lmtp, imap string) {
	t.Helper()
	for _, program := range []string{"/usr/sbin/dovecot", "/usr/lib/dovecot/imap", "/usr/lib/dovecot/lmtp"} {
		if _, err := os.Stat(program); err != nil || os.Geteuid() != 0 {
			t.Skip("needs dovecot with IMAP and LMTP, and to be root: hack/deps installs it")
		}
	}
	dir, err := os.MkdirTemp("/tmp", "dovecot") //nolint:usetesting // its processes have other users, who may not enter a test's directory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	lmtp, imap = free(t), free(t)
	conf := filepath.Join(dir, "dovecot.conf")
	text := fmt.Sprintf(`base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = %[1]s/log
protocols = imap lmtp
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:%[1]s/mail/%%u
first_valid_uid = 1
passdb {
  driver = static
  args = password=%[4]s
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=%[1]s/mail/%%u allow_all_users=yes
}
service lmtp {
  inet_listener lmtp {
    port = %[2]s
  }
}
service imap-login {
  inet_listener imap {
    port = %[3]s
  }
  inet_listener imaps {
    port = 0
  }
}
`, dir, port(lmtp), port(imap), mailboxPassword)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "mail"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "chown", "nobody:nogroup", filepath.Join(dir, "mail")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := exec.CommandContext(t.Context(), "/usr/sbin/dovecot", "-c", conf).Run(); err != nil { // what stays in the background would hold a pipe open
		t.Fatalf("dovecot: %v", err)
	}
	t.Cleanup(func() {
		_ = exec.Command("/usr/sbin/dovecot", "-c", conf, "stop").Run()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("dovecot says: %s", log)
		}
	})
	return lmtp, imap
}

// literal is what announces the bytes of a mail in an IMAP reply.
var literal = regexp.MustCompile(`\{(\d+)\}$`)

// read reads a mailbox over IMAP.
func read(t *testing.T, imap, address string) (all []*mail.Message) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", imap)
	if err != nil {
		return nil // not yet
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(waittest.Limit))
	c := textproto.NewConn(conn)
	if _, err := c.ReadLine(); err != nil {
		return nil
	}
	for i, command := range []string{`LOGIN "` + address + `" "` + mailboxPassword + `"`, "EXAMINE INBOX", "FETCH 1:* BODY.PEEK[]", "LOGOUT"} {
		tag := "a" + strconv.Itoa(i) + " "
		if err := c.PrintfLine("%s", tag+command); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := c.ReadLine()
			if err != nil {
				t.Fatalf("IMAP after %q: %v", command, err)
			}
			if size := literal.FindStringSubmatch(line); size != nil {
				n, _ := strconv.Atoi(size[1])
				body := make([]byte, n)
				if _, err := io.ReadFull(c.R, body); err != nil {
					t.Fatal(err)
				}
				m, err := mail.ReadMessage(bytes.NewReader(body))
				if err != nil {
					t.Fatalf("%v: %s", err, body)
				}
				all = append(all, m)
			}
			if strings.HasPrefix(line, tag) {
				break
			}
		}
	}
	return all
}

// A mail goes through postfix into a mailbox of dovecot, from which its person's program reads it over IMAP. Their reply
// decides the ask, and the outcome comes into the same mailbox, in the thread of the question.
func TestIntoAMailboxOfDovecot(t *testing.T) {
	t.Parallel()
	replies := free(t)
	lmtp, imap := dovecot(t)
	var server string
	w := newWorld(t, func(s *surface) {
		server = postfix(t, "lmtp:inet:"+lmtp, replies)
		s.opts.SMTP, s.opts.Reply, s.opts.Receive, s.opts.AuthServ = "smtp+plain://"+server, "ask@mail.example.net", "lmtp://"+replies, "mx.example.net"
		s.opts.Routes = chat.Routes{Default: chat.Target{Person: tom}}
	})
	k := w.Ask(database("a1"))
	var mails []*mail.Message
	inbox := func(want int) {
		t.Helper()
		natstest.Eventually(t, fmt.Sprint(want, " mails in the mailbox"), func() bool { mails = read(t, imap, tom); return len(mails) >= want })
	}
	inbox(1)
	q := mails[0].Header
	body, err := io.ReadAll(mails[0].Body)
	if err != nil || !strings.Contains(q.Get("Subject"), "a1") || !strings.Contains(string(body), "PostgreSQL") || !strings.Contains(q.Get("Content-Type"), "multipart/alternative") {
		t.Errorf("%v: %v: %s", err, q, body)
	}
	to := q.Get("Reply-To")
	address, err := mail.ParseAddress(to)
	if err != nil {
		t.Fatalf("%q: %v", to, err)
	}
	answer := "From: " + tom + "\r\nTo: " + address.Address + "\r\nSubject: Re: x\r\nMessage-ID: <r1@example.com>\r\nIn-Reply-To: " + q.Get("Message-Id") + "\r\n\r\n2\r\n"
	if err := smtp.SendMail(server, nil, tom, []string{address.Address}, []byte(answer)); err != nil {
		t.Fatal(err)
	}
	if o := w.Wait(k.ID); o.By.Principal != "mailto:"+tom || o.By.Proof != ask.ProofEmail || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("%+v by %+v", o.Answers, o.By)
	}
	inbox(2)
	for _, m := range mails {
		if id := m.Header.Get("Message-Id"); id != q.Get("Message-Id") && m.Header.Get("In-Reply-To") != q.Get("Message-Id") {
			t.Errorf("%s is not in the thread of the question: %v", id, m.Header)
		}
	}
}
