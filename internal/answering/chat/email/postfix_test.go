package email_test

import (
	"fmt"
	"net"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// postfix starts a real postfix with a directory of its own on this machine, which says of every mail whether its sender is
// authentic: Tom's are. Mail for lost.example comes back, that of the addresses of replies goes to the surface, and that of
// people to a transport of postfix.
func postfix(t *testing.T, mailbox, replies string) (address string) {
	t.Helper()
	const sbin = "/usr/lib/postfix/sbin"
	if _, err := exec.LookPath("postfix"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs postfix, and to be root: hack/deps installs it")
	}
	dir, err := os.MkdirTemp("/tmp", "postfix") //nolint:usetesting // its processes have other users, who may not enter a test's directory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	address = free(t)
	conf := filepath.Join(dir, "conf")
	for name, mode := range map[string]os.FileMode{"": 0o755, "conf": 0o755, "queue": 0o755, "data": 0o777} {
		if err := os.MkdirAll(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "chown", "postfix", filepath.Join(dir, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	main := fmt.Sprintf(`compatibility_level = 3.6
queue_directory = %[1]s/queue
data_directory = %[1]s/data
command_directory = /usr/sbin
daemon_directory = %[4]s
maillog_file = %[1]s/log
maillog_file_prefixes = %[1]s
myhostname = mx.example.net
mydestination =
inet_interfaces = loopback-only
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
relay_domains = example.com, lost.example, mail.example.net
recipient_delimiter = +
alias_maps =
alias_database =
smtpd_recipient_restrictions = permit_mynetworks, reject
smtpd_sender_restrictions =
    check_sender_access inline:{ { tom@example.com = PREPEND Authentication-Results: mx.example.net; dkim=pass (2048-bit key; unprotected) header.d=example.com } }
    check_sender_access static:{PREPEND Authentication-Results: mx.example.net; dkim=none}
transport_maps = inline:{ mail.example.net=lmtp:inet:%[3]s, example.com=%[2]s, { lost.example = error:5.1.1 no such user } }
`, dir, mailbox, replies, sbin)
	services := address + " inet n - n - - smtpd\npostlog unix-dgram n - n - 1 postlogd\npickup unix n - n 60 1 pickup\nqmgr unix n - n 1 1 qmgr\nshowq unix n - n - - showq\n"
	for service, program := range map[string]string{"rewrite": "trivial-rewrite", "bounce": "bounce", "defer": "bounce", "trace": "bounce", "lmtp": "lmtp", "smtp": "smtp", "error": "error", "retry": "error"} {
		services += service + " unix - - n - - " + program + "\n"
	}
	services += "cleanup unix n - n - 0 cleanup\nproxymap unix - - n - - proxymap\nanvil unix - - n - 1 anvil\nscache unix - - n - 1 scache\ntlsmgr unix - - n 1000? 1 tlsmgr\n"
	for name, text := range map[string]string{"main.cf": main, "master.cf": services} {
		if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(verb string) {
		if out, err := exec.Command("postfix", "-c", conf, verb).CombinedOutput(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("postfix %s: %v: %s%s", verb, err, out, log)
		}
	}
	run("start")
	t.Cleanup(func() { run("stop") })
	natstest.Eventually(t, "postfix answers", func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return address
}

func port(url string) string { return url[strings.LastIndex(url, ":")+1:] }

// free returns an address at which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// The whole way through a real mail server: the question, a forged reply, a reply that it vouches for, the outcome, and a
// mail that comes back.
func TestThroughPostfix(t *testing.T) {
	t.Parallel()
	replies := free(t)
	var server string
	w := newWorld(t, func(s *surface) {
		server = postfix(t, "smtp:[127.0.0.1]:"+port(s.fake.URL()), replies)
		s.opts.SMTP, s.opts.Reply, s.opts.Receive, s.opts.AuthServ = "smtp+plain://"+server, "ask@mail.example.net", "lmtp://"+replies, "mx.example.net"
		s.opts.Routes = chat.Routes{Default: chat.Target{Person: tom}, People: map[string]string{"chat:ann": ann, "chat:lost": "who@lost.example"}}
	})
	k := w.Ask(database("a1"))
	q := w.question(tom, "a1")
	send := func(from, header, words string) {
		t.Helper()
		mail := header + "From: " + from + "\r\nTo: " + q.From + "\r\nSubject: Re: x\r\nMessage-ID: <" + words + from + ">\r\n\r\n" + words + "\r\n"
		if err := smtp.SendMail(server, nil, from, []string{q.From}, []byte(mail)); err != nil {
			t.Fatal(err)
		}
	}
	const forged = "Authentication-Results: mx.example.net; dkim=pass header.d=example.com\r\n"
	lost := database("a2")
	lost.Audience = []string{"chat:lost"}
	void := w.Ask(lost)
	natstest.Eventually(t, "what came back voids the receipt", func() bool {
		for _, r := range w.Get(void.ID).Receipts {
			if r.State == ask.ReceiptFailed {
				return true
			}
		}
		return false
	})
	other := database("a3")
	other.Audience = []string{"chat:ann"}
	third := w.Ask(other)
	mine := q
	q = w.question(ann, "a3")
	send(ann, forged, "1")
	w.told(ann, "DKIM")
	if rec := w.Get(third.ID); rec.Outcome != nil {
		t.Errorf("a forged field counts: %+v", rec.Outcome)
	}
	q = mine
	send(tom, "", "2")
	if o := w.Wait(k.ID); o.By.Principal != "mailto:"+tom || o.By.Proof != ask.ProofEmail || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("%+v by %+v", o.Answers, o.By)
	}
	w.mail(tom, "the outcome", func(m *fakemail.Mail) bool { return strings.HasSuffix(strings.Split(m.ID(), "@")[0], ".end") })
}
