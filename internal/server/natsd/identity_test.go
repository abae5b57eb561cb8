package natsd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// forge signs a user with a signing key, without the checks of package
// identity.
func forge(t *testing.T, dir, scope string, change func(*jwt.UserClaims)) nats.Option {
	t.Helper()
	keys, err := identity.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := nkeys.FromSeed([]byte(keys.Signing[scope].Seeds[0]))
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, signer, keys.Accounts[keys.Signing[scope].Account], change)
}

func signed(t *testing.T, signer nkeys.KeyPair, account string, change func(*jwt.UserClaims)) nats.Option {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	uc := jwt.NewUserClaims(public)
	uc.IssuerAccount = account
	uc.SetScoped(true)
	change(uc)
	token, err := uc.Encode(signer)
	if err != nil {
		t.Fatal(err)
	}
	return nats.UserJWTAndSeed(token, string(seed))
}

func tagged(tags ...string) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) { uc.Tags = tags }
}

func TestOnlyWhoHasACredentialConnects(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	other := natstest.Start(t, natstest.Options{NoBroker: true})
	natstest.Plain(t, b.Server, agent).Close()
	foreign, err := other.Credential(agent)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := identity.LoadKeys(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	account, _ := nkeys.CreateAccount()
	mine, _ := nkeys.CreateUser()
	public, _ := mine.PublicKey()
	theft := func() nats.Option { // a JWT without its key
		c, err := b.Credential(agent)
		if err != nil {
			t.Fatal(err)
		}
		token, err := nkeys.ParseDecoratedJWT([]byte(c.Creds))
		if err != nil {
			t.Fatal(err)
		}
		return nats.UserJWT(func() (string, error) { return token, nil }, mine.Sign)
	}
	for name, opts := range map[string][]nats.Option{
		"nothing":                  nil,
		"a password":               {nats.UserInfo("agent/acme/s1", "x")},
		"the administrator":        {nats.UserInfo("admin", "admin")},
		"a token":                  {nats.Token("x")},
		"a key without a JWT":      {nats.Nkey(public, mine.Sign)},
		"a JWT without its key":    {theft()},
		"another bus's":            {nats.UserCredentialBytes([]byte(foreign.Creds))},
		"one signed by nobody":     {signed(t, account, keys.Accounts[identity.Bus], tagged("tenant:acme", "session:s1"))},
		"an expired one":           {forge(t, b.Dir, "agent", func(uc *jwt.UserClaims) { uc.Expires = time.Now().Add(-time.Second).Unix() })},
		"one with its own rights":  {forge(t, b.Dir, "agent", func(uc *jwt.UserClaims) { uc.Pub.Allow.Add(">") })},
		"one that is not scoped":   {forge(t, b.Dir, "agent", func(uc *jwt.UserClaims) { uc.SetScoped(false) })},
		"one of another account":   {forge(t, b.Dir, "agent", func(uc *jwt.UserClaims) { uc.IssuerAccount = keys.Accounts[identity.Ledger] })},
		"a broker's of up, by TCP": {forge(t, b.Dir, "broker-in-process", func(*jwt.UserClaims) {})},
		"a ledger's of up, by TCP": {forge(t, b.Dir, "ledger-in-process", func(*jwt.UserClaims) {})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, err := nats.Connect(b.URL(), opts...)
			if err == nil {
				nc.Close()
				t.Fatal("connected")
			}
			if !strings.Contains(strings.ToLower(err.Error()), "authorization") && !strings.Contains(strings.ToLower(err.Error()), "authentication") {
				t.Errorf("refused with %v", err)
			}
		})
	}
}

func TestTheBrokersOfUpConnectInProcess(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	for _, r := range []rights.Role{service, ledger} {
		c, err := b.Issuer().Credential(b.URL(), r)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect("", nats.UserCredentialBytes([]byte(c.Creds)), nats.InProcessServer(b))
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
		if nc, err := nats.Connect(b.URL(), nats.UserCredentialBytes([]byte(c.Creds))); err == nil {
			nc.Close()
			t.Errorf("%s connects by TCP", r.User())
		}
	}
}

// The effects of a credential's tags on its scope's template. Package identity
// signs none of the invalid ones.
func TestWhatTagsAllow(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	may := func(t *testing.T, opt nats.Option, subject string) bool {
		t.Helper()
		nc, err := nats.Connect(b.URL(), opt, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		user, _, err := connection.On(nc).Sender()
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Publish(strings.Replace(subject, "~", user, 1), nil); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return nc.LastError() == nil
	}
	for name, c := range map[string]struct {
		tags      []string
		yes, no   []string
		scope     string
		byTheBook bool // package identity would sign it
	}{
		"one session":                 {tags: []string{"tenant:acme", "session:s1"}, yes: []string{"askv1.acme.s1.list"}, no: []string{"askv1.acme.s2.list"}, byTheBook: true},
		"case is kept":                {tags: []string{"tenant:Acme", "session:S1"}, yes: []string{"askv1.Acme.S1.list"}, no: []string{"askv1.acme.s1.list", "askv1.Acme.s1.list"}, byTheBook: true},
		"a tag's name in upper case":  {tags: []string{"Tenant:acme", "session:s1"}, no: []string{"askv1.acme.s1.list"}},
		"no session":                  {tags: []string{"tenant:acme"}, no: []string{"askv1.acme.s1.list", "askv1.acme.list"}},
		"no session of a responder":   {scope: "responder-session", tags: []string{"type:web", "tenant:acme"}, no: []string{"ansv1.web.~.acme.list", "ansv1.web.~.acme.s1.list", "ansv1.web.~.list"}},
		"no tenant of a responder":    {scope: "responder-tenant", tags: []string{"type:web"}, no: []string{"ansv1.web.~.list", "ansv1.web.~.acme.list"}},
		"an empty session":            {tags: []string{"tenant:acme", "session:"}, no: []string{"askv1.acme.s1.list"}},
		"a star reads everything":     {tags: []string{"tenant:acme", "session:*"}, yes: []string{"askv1.acme.s9.list"}},
		"a dot moves tokens":          {tags: []string{"tenant:acme", "session:s1.x"}, yes: []string{"askv1.acme.s1.x.list"}},
		"two of a name are a product": {tags: []string{"tenant:acme", "tenant:zeta", "session:s1", "session:s2"}, yes: []string{"askv1.acme.s2.list", "askv1.zeta.s1.list"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.scope == "" {
				c.scope = "agent"
			}
			opt := forge(t, b.Dir, c.scope, tagged(c.tags...))
			for _, s := range c.yes {
				if !may(t, opt, s) {
					t.Errorf("may not publish to %s", s)
				}
			}
			for _, s := range c.no {
				if may(t, opt, s) {
					t.Errorf("may publish to %s", s)
				}
			}
			if c.byTheBook {
				return
			}
			tags := map[string]string{}
			for _, tag := range c.tags {
				name, value, _ := strings.Cut(tag, ":")
				tags[name] = value
			}
			keys, err := identity.LoadKeys(b.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(tags) == len(c.tags) && !strings.HasPrefix(name, "no ") {
				if _, err := keys.Issue(identity.User{Scope: c.scope, Tags: tags, Life: time.Hour}, time.Now()); err == nil {
					t.Error("package identity signs it")
				}
			}
		})
	}
}

// JetStream exists only in the ledger's account, whatever permissions a user of
// the other has.
func TestThereIsNoJetStreamBesideTheLedgers(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	m, err := b.Admin().Request("$JS.API.INFO", nil, 10*time.Second)
	if err != nil || !strings.Contains(string(m.Data), "10039") {
		t.Errorf("%v, %v", m, err)
	}
	if m, err = b.LedgerAdmin().Request("$JS.API.INFO", nil, 10*time.Second); err != nil || strings.Contains(string(m.Data), `"error":{`) {
		t.Errorf("%v, %v", m, err)
	}
}

// Only outv1 and statev1 cross from one account to the other, and nothing back.
func TestOnlyWhatIsRepublishedCrossesTheAccounts(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	bus, store := b.Admin(), b.LedgerAdmin()
	subjects := []string{"ledgerv1.00.a.b.c.o", "askv1.a.b.ask.c", "ansv1.web.list", "_INBOX.a.a.b.x", "herev1.a.b", "kvv1.operator.tokens.list", "outv1.a.b.c.o", "statev1.tokens.~.x"}
	heard := func(nc *nats.Conn) chan *nats.Msg {
		ch := make(chan *nats.Msg, 100)
		for _, s := range subjects {
			if _, err := nc.ChanSubscribe(s, ch); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return ch
	}
	inBus, inStore := heard(bus), heard(store)
	for _, nc := range []*nats.Conn{bus, store} {
		for _, s := range subjects {
			if err := nc.Publish(s, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		ch   chan *nats.Msg
		more int
	}{"bus": {inBus, 2}, "ledger": {inStore, 0}} {
		got := map[string]int{}
		for range len(subjects) + c.more {
			got[(<-c.ch).Subject]++
		}
		if got["outv1.a.b.c.o"]+got["statev1.tokens.~.x"] != 2+c.more || got["ledgerv1.00.a.b.c.o"] != 1 || len(c.ch) != 0 {
			t.Errorf("%s heard %v and %d more", name, got, len(c.ch))
		}
	}
}
