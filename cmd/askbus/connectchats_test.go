package main

import (
	"bufio"
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// await waits until a fake shows something.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(waittest.Limit)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("there is no %s", what)
		}
	}
}

// pairingCode returns the code that a process shows.
func pairingCode(t *testing.T, p *process) string {
	t.Helper()
	code := regexp.MustCompile(`(?m)^    ([2-9A-Z]{4}-[2-9A-Z]{4})$`).FindStringSubmatch(p.err.wait(t, "the account that sends it is yours"))
	if code == nil {
		t.Fatalf("it shows no code: %s", p.err)
	}
	return code[1]
}

// outside leads https://example.com to a handler, as a proxy with a certificate does. It returns the variables with
// which a process reaches that name.
func outside(t *testing.T, h http.Handler) (env []string) {
	t.Helper()
	front := httptest.NewUnstartedServer(h)
	front.StartTLS()
	t.Cleanup(front.Close)
	cert := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	tunnel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, rw); _ = there.Close() }()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	t.Cleanup(tunnel.Close)
	return []string{"SSL_CERT_FILE=" + cert, "HTTPS_PROXY=" + tunnel.URL}
}

// inboxOf returns a handler that leads to where "askbus up" listens.
func (pl place) inboxOf(paths ...string) (at string, h http.Handler) {
	pl.t.Helper()
	here, err := cli.ReadContext(pl.dir)
	if err != nil {
		pl.t.Fatal(err)
	}
	u, err := url.Parse(here.HTTPURL)
	if err != nil {
		pl.t.Fatal(err)
	}
	at, mux := u.Scheme+"://"+u.Host, http.NewServeMux()
	for _, p := range paths {
		mux.Handle(p, httputil.NewSingleHostReverseProxy(u))
	}
	return at, mux
}

// finished waits until a chat is connected by an answered test question.
func finished(t *testing.T, p *process, name string) {
	t.Helper()
	if code := p.wait(); code != 0 || !strings.Contains(p.err.String(), name+" is connected") {
		t.Fatalf("exit %d: %s", code, p.err)
	}
}

const teamsRoom = "19:room@thread.v2"

// Teams is connected to a running bus behind a proxy: the address is tried out, a private message pairs, and the test
// question comes to the private chat. A guest's code, one in a group chat, and calls of somebody else pair nobody.
func TestTeamsIsConnectedThroughItsEndpoint(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := faketeams.Start()
	t.Cleanup(f.Close)
	person := faketeams.Person{Object: "00000000-0000-4000-8000-000000000003", Name: "Mei"}
	guest := faketeams.Person{Object: "00000000-0000-4000-8000-000000000004", Name: "Gus", Role: "guest"}
	f.Add(person, teamsRoom, "a:"+person.Object)
	f.Add(guest, teamsRoom, "a:"+guest.Object)
	pl, bus := up(t)
	at, h := pl.inboxOf("/teams/")
	f.Bot(at + "/teams/messages")
	env := append(outside(t, h), "ASKBUS_TEAMS_SERVICE_URL="+f.URL(), "ASKBUS_TEAMS_LOGIN_URL="+f.URL(), "ASKBUS_TEAMS_KEYS_URL="+f.Metadata())
	entered := faketeams.App + "\n" + faketeams.Tenant + "\n" + faketeams.Secret + "\nhttps://example.com/\n"

	lost := startWith(t, outside(t, http.NotFoundHandler()), entered, "connect", "teams", "--dir", pl.dir)
	if code := lost.wait(); code == 0 || !strings.Contains(lost.err.String(), "does not lead here: make it lead to "+at) {
		t.Fatalf("exit %d: %s", code, lost.err)
	}
	p := startWith(t, env, entered, "connect", "teams", "--dir", pl.dir)
	code := pairingCode(t, p)
	if status, _, err := f.Deliver(ctx, f.Activity("message", person, "a:"+person.Object), "Bearer x"); err != nil || status != http.StatusUnauthorized {
		t.Errorf("an unsigned call: %d, %v", status, err)
	}
	for _, say := range []struct {
		who   faketeams.Person
		where string
		words string
	}{{guest, "a:" + guest.Object, code}, {person, teamsRoom, code}, {person, "a:" + person.Object, "hello"}, {person, "a:" + person.Object, strings.ToLower(code)}} {
		await(t, "a delivery", func() bool { // a program reads the code sooner than the command waits for it
			err := f.Write(ctx, say.who, say.where, say.words, say.where == teamsRoom)
			if err != nil && err.Error() != "status 503" {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	p.err.wait(t, "paired with Mei (teams:"+faketeams.Tenant+"/"+person.Object+")")
	bus.err.wait(t, "askbus: Teams is connected")
	var asked faketeams.Message
	var told string
	await(t, "test question", func() bool {
		for _, m := range f.Messages() {
			if m.Card != nil && m.Conversation == "a:"+person.Object {
				if words, _, err := f.Press(ctx, person, &m, "It does", nil); err == nil {
					asked, told = m, words
				}
			}
		}
		return asked.ID != ""
	})
	finished(t, p, "Teams")
	if strings.Contains(told, "Not stored") {
		t.Error(told)
	}
	if body, err := os.ReadFile(filepath.Join(pl.dir, "chats", "teams.yaml")); err != nil || !strings.Contains(string(body), "a:"+person.Object) {
		t.Errorf("%v: %s", err, body)
	}
	if files, _ := filepath.Glob(filepath.Join(pl.dir, "chats", "*.sock")); len(files) > 0 {
		t.Errorf("%q is left", files)
	}
}

// Mattermost and Discord are connected to one running bus, and e-mail to another address than the platform's.
func TestChatsArePairedByAPrivateMessage(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	ctx := t.Context()
	pl, bus := up(t)
	at, _ := pl.inboxOf()
	all := t
	t.Run("mattermost", func(t *testing.T) {
		f := fakemattermost.Start()
		t.Cleanup(f.Close)
		const person, tom, gus = "meimeimeimeimeimeimeimeime", "tomtomtomtomtomtomtomtomto", "gusgusgusgusgusgusgusgusgu"
		f.Add(fakemattermost.User{ID: person, Username: "mei", First: "Mei"})
		f.Add(fakemattermost.User{ID: tom, Username: "tom"})
		f.Add(fakemattermost.User{ID: gus, Username: "gus", Roles: "system_guest"})
		p := startWith(t, nil, f.URL()+"\n"+fakemattermost.Token+"\n"+at+"\n", "connect", "mattermost", "--dir", pl.dir)
		code := pairingCode(t, p)
		f.Write(tom, "hello")
		f.Write(gus, code)
		f.Write(person, strings.ReplaceAll(code, "-", ""))
		p.err.wait(t, "paired with Mei (mattermost:")
		bus.err.wait(t, "askbus: Mattermost is connected")
		await(t, "test question", func() bool {
			for _, post := range f.Posts() {
				if !testOf("Mattermost", post.Shown()) {
					continue
				}
				if _, err := f.Press(ctx, person, &post, "It does"); err == nil {
					return true
				}
			}
			return false
		})
		finished(t, p, "Mattermost")
		all.Cleanup(func() { // when the others are connected as well
			for _, post := range f.Posts() {
				only(t, "Mattermost", post.Shown())
			}
		})
	})
	t.Run("discord", func(t *testing.T) {
		f := fakediscord.Start(fakediscord.Options{})
		t.Cleanup(f.Close)
		f.AddUser(fakediscord.User{ID: "300000000000000003", Name: "mei"})
		p := startWith(t, []string{"ASKBUS_DISCORD_URL=" + f.URL()}, fakediscord.Token+"\n", "connect", "discord", "--dir", pl.dir)
		code := pairingCode(t, p)
		if !f.Await(ctx, func() bool { n, _ := f.Sessions(); return n > 0 }) {
			t.Fatal("it is not connected")
		}
		f.Write("300000000000000003", "hello "+code)
		f.Write("300000000000000003", code)
		p.err.wait(t, "paired with mei (discord:300000000000000003)")
		await(t, "word that it is connected", func() bool {
			return slices.ContainsFunc(f.Messages(), func(m fakediscord.Message) bool {
				return strings.Contains(m.Shown(), "Connected. Questions of agents come here.")
			})
		})
		bus.err.wait(t, "askbus: Discord is connected")
		await(t, "test question", func() bool {
			for _, m := range f.Messages() {
				if !testOf("Discord", m.Shown()) {
					continue
				}
				if _, err := f.Click(ctx, "300000000000000003", m, "It does"); err == nil {
					return true
				}
			}
			return false
		})
		finished(t, p, "Discord")
		all.Cleanup(func() {
			for _, m := range f.Messages() {
				only(t, "Discord", m.Shown())
			}
		})
	})
	t.Run("slack", func(t *testing.T) {
		f, err := fakeslack.Start(fakeslack.Options{NoLimits: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		f.AddUser(fakeslack.User{ID: "U0MEI", Name: "mei", Team: "T0HOME"})
		f.AddUser(fakeslack.User{ID: "U0GUS", Name: "gus", Team: "T0OTHER"})
		f.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{fakeslack.BotUser, "U0MEI"}})
		f.AddChannel(fakeslack.Channel{ID: "D0MEI", With: "U0MEI"})
		f.AddChannel(fakeslack.Channel{ID: "D0GUS", With: "U0GUS"})
		p := startWith(t, []string{"ASKBUS_SLACK_URL=" + f.URL()}, "xoxb-fake\nxapp-fake\n", "connect", "slack", "--dir", pl.dir)
		code := pairingCode(t, p)
		await(t, "connection", func() bool { _, live := f.Connections(); return live > 0 })
		f.Write("U0MEI", "C0ASKS", "", code)   // for everybody to read
		f.Write("U0GUS", "D0GUS", "", code)    // of another workspace
		f.Write("U0MEI", "D0MEI", "", "hello") // no code
		f.Write("U0MEI", "D0MEI", "", strings.ToLower(code))
		p.err.wait(t, "paired with mei (slack:T0HOME/U0MEI)")
		bus.err.wait(t, "askbus: Slack is connected")
		await(t, "test question", func() bool {
			for _, m := range f.Messages("D0MEI") {
				if !testOf("Slack", m.Shown()) {
					continue
				}
				if d := f.Click("U0MEI", m.Place, "It does"); d.Acked {
					return true
				}
			}
			return false
		})
		finished(t, p, "Slack")
	})
	t.Run("email", func(t *testing.T) {
		f, err := fakemail.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		f.SetPassword("secret of the mails")
		in, enter := io.Pipe()
		p := startFrom(t, in, []string{"ASKBUS_EMAIL_DELAY=0s"}, "connect", "email", "--dir", pl.dir)
		say := func(line string) { _, _ = io.WriteString(enter, line+"\n") }
		for _, line := range []string{f.URL(), "askbus <ask@example.com>", "secret of the mails", at, "Mei@Example.com"} {
			say(line)
		}
		p.err.wait(t, "mailed a code to mei@example.com")
		first := f.Mails()[0]
		code := regexp.MustCompile(`(?m)^    (\S+)\r?$`).FindStringSubmatch(first.Text)
		if first.To != "mei@example.com" || code == nil {
			t.Fatalf("%s: %s", first.To, first.Text)
		}
		say("AAAA-BBBB")
		p.err.wait(t, "that is not the code")
		say(code[1])
		p.err.wait(t, "paired with mei@example.com (mailto:mei@example.com)")
		_ = enter.Close()
		page := ""
		await(t, "test question", func() bool {
			for _, m := range f.Mails()[1:] {
				if !testOf("e-mail", m.Text) {
					continue
				}
				lines := bufio.NewScanner(strings.NewReader(m.Text))
				for lines.Scan() {
					if strings.HasPrefix(lines.Text(), at+"/email/ask/") {
						page = strings.TrimSpace(lines.Text())
					}
				}
			}
			return page != ""
		})
		answerPage(ctx, t, page)
		finished(t, p, "e-mail")
		if files, _ := filepath.Glob(filepath.Join(pl.dir, "chats", "email.*")); len(files) != 4 {
			t.Errorf("the files are %q", files)
		}
	})
}

// only fails the test if a chat shows the test question of another one.
func only(t *testing.T, name, shown string) {
	t.Helper()
	if strings.Contains(shown, "A test of ") && !testOf(name, shown) {
		t.Errorf("%s shows %q", name, shown)
	}
}

// testOf reports whether a message has the test question of a chat.
func testOf(name, message string) bool { return strings.Contains(message, "A test of "+name) }

// answerPage chooses "yes" on the page of a mail.
func answerPage(ctx context.Context, t *testing.T, page string) {
	t.Helper()
	body := visit(ctx, t, http.MethodGet, page, nil)
	field := regexp.MustCompile(`type="radio" name="([^"]+)" value="=yes"`).FindStringSubmatch(body)
	if field == nil {
		t.Fatalf("the page has no option: %s", body)
	}
	visit(ctx, t, http.MethodPost, page, url.Values{field[1]: {"=yes"}, "do": {"answer"}})
}

func visit(ctx context.Context, t *testing.T, method, address string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %s", method, address, res.Status, body)
	}
	return string(body)
}
