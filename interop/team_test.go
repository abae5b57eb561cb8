package interop_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// signedIn signs a person in at the inbox with the provider.
func (b *bus) signedIn(name string) person {
	b.t.Helper()
	who := somebody(b.t, name, "")
	if res, page := who.open(b.url + "/login/oidc"); res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Request.URL.String(), b.pages) {
		b.t.Fatalf("%s: %s at %s: %s", name, res.Status, res.Request.URL, page)
	}
	return who
}

// command runs askbus in the directory of the bus, as its operator does.
func (b *bus) command(args ...string) string {
	b.t.Helper()
	out, err := exec.Command(b.binary, append(args, "--dir", b.dir)...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("askbus %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestATeamOfThreeAnAgentAndOneWhoLeaves follows docs/sign-in.md, "A team, from
// nothing": three people sign in with OpenID Connect, an agent in another
// process gets its credential by exchange, and a person whose access is revoked
// is signed out at once.
func TestATeamOfThreeAnAgentAndOneWhoLeaves(t *testing.T) {
	t.Parallel()
	b, _, issuer := inbox(t)
	mei, tom, ana := b.signedIn("mei"), b.signedIn("tom"), b.signedIn("ana")
	streams := map[string]<-chan struct{}{"mei": mei.stream(b.pages), "tom": tom.stream(b.pages)}

	// The agent has a token of the provider, and nothing of ours.
	res, err := http.PostForm(issuer+"/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"ci"}, "client_secret": {"a secret of the build"}, "scope": {"askbus"}, "resource": {"urn:askbus"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct {
		Token string `json:"access_token"`
	}
	if data, err := io.ReadAll(res.Body); err != nil || json.Unmarshal(data, &got) != nil || got.Token == "" {
		t.Fatalf("the agent's token: %s %s %v", res.Status, data, err)
	}
	elsewhere := t.TempDir()
	token := filepath.Join(elsewhere, "token")
	if err := os.WriteFile(token, []byte(got.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(b.binary, "ask", "--session", "ci-7", "--id", "deploy", "--question", "Deploy to production?", "--option", "Yes", "--option", "No", "--output", "json")
	agent.Env = append(os.Environ(), "ASKBUS_EXCHANGE_URL="+b.url, "ASKBUS_EXCHANGE_TOKEN_FILE="+token, "ASKBUS_DIR="+elsewhere, "XDG_CONFIG_HOME="+elsewhere)
	agent.Stderr = os.Stderr
	answered := make(chan string, 1)
	go func() {
		out, err := agent.Output()
		if err != nil {
			t.Errorf("the agent: %v", err)
		}
		answered <- string(out)
	}()
	b.next() // it is asked

	// Ana reads it and may not decide; Tom has left; Mei decides.
	const at = "/ask/default/ci-7/deploy"
	if res, page := ana.open(b.url + at); res.StatusCode != http.StatusOK || !strings.Contains(page, "Deploy to production?") {
		t.Errorf("Ana sees: %s %s", res.Status, page)
	}
	answer := func(who person) int {
		t.Helper()
		res, err := who.PostForm(b.pages+at+"/answer", url.Values{"response": {"the first"}, "answer_id": {"by-" + who.name}})
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if status := answer(ana); status != http.StatusForbidden {
		t.Errorf("Ana answers: %d", status)
	}
	b.command("people", "sign-out", principal(issuer, "tom"))
	tom.ends(streams["tom"], "an operator signed him out")
	if status := answer(tom); status != http.StatusUnauthorized {
		t.Errorf("Tom answers: %d", status)
	}
	if status := answer(mei); status != http.StatusOK {
		t.Errorf("Mei answers: %d", status)
	}
	if out := <-answered; !strings.Contains(out, `"principal":"`+principal(issuer, "mei")+`"`) || !strings.Contains(out, `"proof":"oidc"`) || !strings.Contains(out, `"status":"answered"`) {
		t.Errorf("the agent got %s", out)
	}
	select {
	case <-streams["mei"]:
		t.Error("Mei's live stream ended, too")
	default:
	}

	// The agent's credential goes while it is connected.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/v1/credentials?session=ci-8", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+got.Token)
	made, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Body.Close()
	var cred client.Credential
	if err := json.NewDecoder(made.Body).Decode(&cred); err != nil || cred.Name != "agent/default/ci-8" {
		t.Fatalf("%s: %+v %v", made.Status, cred.Name, err)
	}
	gone := make(chan struct{})
	nc, err := nats.Connect(cred.URL, nats.UserCredentialBytes([]byte(cred.Creds)), nats.CustomInboxPrefix(cred.InboxPrefix), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	b.command("auth", "revoke", "agent/default/ci-8")
	began := time.Now()
	select {
	case <-gone:
		t.Logf("the agent's connection ended %s after the revocation", time.Since(began).Round(time.Millisecond))
	case <-time.After(time.Minute):
		t.Fatal("the connection of a revoked credential stands")
	}
	if again, err := nats.Connect(cred.URL, nats.UserCredentialBytes([]byte(cred.Creds)), nats.NoReconnect()); err == nil {
		again.Close()
		t.Error("a revoked credential is let in")
	}
}
