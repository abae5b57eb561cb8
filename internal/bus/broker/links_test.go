package broker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// member is somebody in a chat, in the group of those who may deploy.
func member(principal string) ask.By {
	kind, _, _ := strings.Cut(principal, ":")
	return ask.By{Principal: principal, Name: "Mei", Groups: []string{"sre"}, Proof: map[string]string{"telegram": ask.ProofTelegram, "slack": "slack-signature"}[kind]}
}

// signedIn is somebody at the web inbox.
func signedIn(name string) ask.By {
	return ask.By{Principal: "oidc:id.example.com#" + name, Name: name, Groups: []string{"sre"}, Proof: ask.ProofOIDC}
}

// linked links a member of a chat with a person of an inbox.
func linked(t *testing.T, chat, web *responder.Responder, principal string, by ask.By) {
	t.Helper()
	code, _, err := chat.Claim(t.Context(), member(principal))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := web.Claimed(t.Context(), by, code); err != nil || l.Principal != principal || l.Name != "Mei" || !l.Since.IsZero() {
		t.Fatalf("who would be linked: %+v, %v", l, err)
	}
	if l, err := web.Link(t.Context(), by, strings.ToLower(strings.ReplaceAll(code, "-", " "))); err != nil || l.Account != by.Principal {
		t.Fatalf("linked: %+v, %v", l, err)
	}
}

// listing is a broker with an operator's list.
func listing(t *testing.T, file string) *natstest.Bus {
	t.Helper()
	var now atomic.Pointer[approvals.File]
	f, err := approvals.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	now.Store(f)
	return natstest.Start(t, natstest.Options{Broker: broker.Options{Approvals: now.Load}})
}

// TestChatsOfOnePersonAreOneVoter: without any list, two chats and the inbox are one
// person's vote, and who is excluded is so in each chat. Each keeps its own proof.
func TestChatsOfOnePersonAreOneVoter(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	b.Broker(broker.Options{}) // what one of two writes counts at once with the other
	web, other := newResponder(t, b, "web"), newResponder(t, b, "web")
	telegram, slack := newResponder(t, b, "telegram"), newResponder(t, b, "slack")
	linked(t, telegram, web, "telegram:4711", signedIn("mei"))
	linked(t, slack, other, "slack:T1/U1", signedIn("mei"))
	k := pose(t, b, deploying("d1", 2))
	for i, one := range []struct {
		r  *responder.Responder
		by ask.By
	}{{telegram, member("telegram:4711")}, {web, signedIn("mei")}, {slack, member("slack:T1/U1")}} {
		_, err := one.r.Answer(t.Context(), k, votes(fmt.Sprint("v", i), one.by, true))
		counted(t, err, "1 of 2 approvals: "+one.by.Name+"; 1 more needed from group sre")
	}
	o, err := telegram.Answer(t.Context(), k, votes("v9", member("telegram:666"), true))
	if err != nil || len(o.Votes) != 2 || o.Votes[0].By.Principal != "slack:T1/U1" || o.Votes[0].By.Proof != "slack-signature" || o.Votes[0].Person != "oidc:id.example.com#mei" {
		t.Fatalf("%+v, %v", o.Votes, err)
	}
	a := deploying("d2", 1)
	a.ExcludeAsker, a.Asker = true, []string{"os:mei", "oidc:id.example.com#mei"}
	k = pose(t, b, a)
	_, err = telegram.Answer(t.Context(), k, votes("v1", member("telegram:4711"), true))
	forbidden(t, "the asker in a chat", err)
	a = deploying("d3", 1)
	a.Exclude = []string{"telegram:4711"}
	k = pose(t, b, a)
	_, err = web.Answer(t.Context(), k, votes("v1", signedIn("mei"), true))
	forbidden(t, "the excluded at the inbox", err)
	a = deploying("d4", 1)
	a.Audience, a.Approval, a.MinProof = []string{"oidc:id.example.com#mei"}, nil, ""
	_, err = telegram.Answer(t.Context(), pose(t, b, a), votes("v1", member("telegram:4711"), true))
	forbidden(t, "a link gives no right", err)
}

// TestALinkPutsAChatBesideAPersonOfTheList: where an operator lists people, a chat that
// is linked to one of them may vote, until the link ends.
func TestALinkPutsAChatBesideAPersonOfTheList(t *testing.T) {
	t.Parallel()
	b := listing(t, "people: [{name: Mei, principals: ['oidc:id.example.com#mei', 'telegram:1']}, {name: Tom, principals: ['oidc:id.example.com#tom']}]")
	web, telegram := newResponder(t, b, "web"), newResponder(t, b, "telegram")
	k := pose(t, b, deploying("d1", 2))
	_, err := telegram.Answer(t.Context(), k, votes("v1", member("telegram:4711"), true))
	forbidden(t, "nobody's", err)
	linked(t, telegram, web, "telegram:4711", signedIn("mei"))
	_, err = telegram.Answer(t.Context(), k, votes("v2", member("telegram:4711"), true))
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	_, err = telegram.Answer(t.Context(), k, votes("v3", member("telegram:1"), true)) // hers by the list
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	_, err = telegram.Answer(t.Context(), k, votes("v4", member("telegram:4711"), true))
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	if _, _, err := telegram.Claim(t.Context(), member("telegram:1")); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("the list goes first: %v", err)
	}
	linked(t, telegram, web, "telegram:5", signedIn("eve")) // whom the list does not have
	_, err = telegram.Answer(t.Context(), k, votes("v5", member("telegram:5"), true))
	forbidden(t, "linked to somebody who is not in the list", err)
	if err := web.Unlink(t.Context(), signedIn("mei"), "telegram:4711"); err != nil {
		t.Fatal(err)
	}
	_, err = web.Answer(t.Context(), k, votes("v6", signedIn("tom"), true))
	counted(t, err, "1 of 2 approvals: Tom; 1 more needed from group sre") // hers was revoked
}

// TestWhoMayLink: everybody else is refused, and a code dies.
func TestWhoMayLink(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	web, telegram := newResponder(t, b, "web"), newResponder(t, b, "telegram")
	for what, by := range map[string]ask.By{
		"another type's":  member("slack:T1/U1"),
		"a person's":      signedIn("mei"),
		"the chat itself": {},
	} {
		_, _, err := telegram.Claim(t.Context(), by)
		forbidden(t, what, err)
	}
	_, _, err := web.Claim(t.Context(), signedIn("mei"))
	forbidden(t, "the inbox claims", err)
	_, err = telegram.Link(t.Context(), signedIn("mei"), "AAAA-BBBB-CCCC")
	forbidden(t, "a chat links", err)
	narrow, err := responder.New(asserting(t, b, surface("telegram"), assertion.Set{Proven: []string{"telegram=telegram:1"}}), "telegram", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = narrow.Claim(t.Context(), member("telegram:2"))
	forbidden(t, "more than the credential asserts", err)

	code, until, err := telegram.Claim(t.Context(), member("telegram:4711"))
	if left := time.Until(until); err != nil || left < 5*time.Minute || left > 10*time.Minute || len(code) != 14 {
		t.Fatalf("%q until %s, %v", code, until, err)
	}
	for what, by := range map[string]ask.By{"a token": {Principal: "token:t1", Proof: ask.ProofToken}, "the inbox itself": {}} {
		_, err := web.Link(t.Context(), by, code)
		forbidden(t, what, err)
	}
	if _, err := web.Claimed(t.Context(), signedIn("mei"), "AAAA-BBBB-CCCC"); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a guess: %v", err)
	}
	// Of many who press at two inboxes, one is linked.
	other := newResponder(t, b, "web")
	var wait sync.WaitGroup
	var done atomic.Int32
	for i := range 8 {
		wait.Go(func() {
			if _, err := []*responder.Responder{web, other}[i%2].Link(t.Context(), signedIn(fmt.Sprint("p", i)), code); err == nil {
				done.Add(1)
			} else if !errors.Is(err, ask.ErrNotFound) && !errors.Is(err, ask.ErrConflict) {
				t.Errorf("%v", err)
			}
		})
	}
	if wait.Wait(); done.Load() != 1 {
		t.Errorf("%d are linked", done.Load())
	}
	all, err := web.Links(t.Context())
	if err != nil || len(all) != 1 || all[0].Principal != "telegram:4711" {
		t.Fatalf("%+v, %v", all, err)
	}
	// A second code of theirs links nobody else, and its look says so.
	code, _, err = telegram.Claim(t.Context(), member("telegram:4711"))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range []func() error{
		func() error { _, err := web.Claimed(t.Context(), signedIn("eve"), code); return err },
		func() error { _, err := web.Link(t.Context(), signedIn("eve"), code); return err },
	} {
		if err := link(); !errors.Is(err, ask.ErrConflict) {
			t.Errorf("taken over: %v", err)
		}
	}
	if err := web.Unlink(t.Context(), signedIn("eve"), "telegram:4711"); err != nil {
		t.Fatal(err)
	}
	if all, err := other.Links(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("somebody else ended it: %+v, %v", all, err)
	}
	// Who guesses is stopped.
	for i := range 30 {
		if _, err = web.Claimed(t.Context(), signedIn("eve"), fmt.Sprint("guess", i)); errors.Is(err, ask.ErrQuota) {
			break
		}
	}
	if !errors.Is(err, ask.ErrQuota) {
		t.Errorf("30 guesses: %v", err)
	}
	if _, _, err := newResponder(t, b, "slack").Claim(t.Context(), member("slack:T1/U2")); err != nil {
		t.Fatal(err)
	}
	if _, err := newResponder(t, b, "slack").Links(t.Context()); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a chat reads who is who: %v", err)
	}
}

// TestLinksOfTenants: what a chat or an inbox of one tenant says counts there only, and
// never in another one.
func TestLinksOfTenants(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	of := func(typ, tenant string) *responder.Responder {
		r, err := responder.New(asserting(t, b, rights.Role{Name: rights.RoleResponder, Type: typ, Tenant: tenant}, assertion.Anything()), typ, responder.Options{Tenant: tenant})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	web, telegram := newResponder(t, b, "web"), newResponder(t, b, "telegram")
	code, _, err := of("telegram", "other").Claim(t.Context(), member("telegram:4711"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of("web", "acme").Link(t.Context(), signedIn("eve"), code); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a code of another tenant: %v", err)
	}
	if _, err := web.Link(t.Context(), signedIn("eve"), code); err != nil {
		t.Fatal(err)
	}
	if all, err := web.Links(t.Context()); err != nil || len(all) != 1 || all[0].Tenant != "other" {
		t.Fatalf("%+v, %v", all, err)
	}
	if all, err := of("web", "acme").Links(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("another tenant's inbox sees %+v, %v", all, err)
	}
	k := pose(t, b, deploying("d1", 2)) // of acme, where nothing is said
	_, err = telegram.Answer(t.Context(), k, votes("v1", member("telegram:4711"), true))
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	if o, err := web.Answer(t.Context(), k, votes("v2", signedIn("eve"), true)); err != nil {
		t.Errorf("%+v, %v", o, err)
	}
	code, _, err = telegram.Claim(t.Context(), member("telegram:4711"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.Claimed(t.Context(), signedIn("mei"), code); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("in every tenant, beside somebody else's in one: %v", err)
	}
	if l, err := of("web", "acme").Link(t.Context(), signedIn("mei"), code); err != nil || l.Tenant != "acme" {
		t.Errorf("in its own tenant: %+v, %v", l, err)
	}
}

// TestWhoIsRevokedLosesLinks: and the votes that were given in linked chats.
func TestWhoIsRevokedLosesLinks(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	web, telegram := newResponder(t, b, "web"), newResponder(t, b, "telegram")
	linked(t, telegram, web, "telegram:4711", signedIn("mei"))
	linked(t, telegram, web, "telegram:1", signedIn("tom"))
	k := pose(t, b, deploying("d1", 2))
	_, err := telegram.Answer(t.Context(), k, votes("v1", member("telegram:4711"), true))
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	operator := b.Connect(rights.Role{Name: rights.RoleOperator})
	if _, err := state.Open(operator, state.Operator(), state.Revoked).Put(t.Context(), state.RevokedKey("", "oidc:id.example.com#mei"), map[string]string{"principal": "oidc:id.example.com#mei"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if all, err := web.Links(t.Context()); err != nil || len(all) != 1 || all[0].Account != "oidc:id.example.com#tom" {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = web.Answer(t.Context(), k, votes("v2", signedIn("tom"), true))
	counted(t, err, "1 of 2 approvals: tom; 1 more needed from group sre")
	// An operator ends the other one.
	links := state.Open(operator, state.Operator(), state.Links)
	all, err := state.ListLinks(t.Context(), links)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := links.Delete(t.Context(), state.LinkKey(&all[0])); err != nil {
		t.Fatal(err)
	}
	_, err = telegram.Answer(t.Context(), pose(t, b, deploying("d2", 2)), votes("v3", member("telegram:1"), true))
	counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
	if _, err := state.Open(operator, state.Operator(), state.Links).Put(t.Context(), state.LinkKey(&all[0]), map[string]string{}, 0); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("an operator writes a link: %v", err)
	}
}

// TestWhoIsRevokedLosesTheVotesOfEachPrincipal that the list of people has of them, and of chats linked to one of them.
func TestWhoIsRevokedLosesTheVotesOfEachPrincipal(t *testing.T) {
	t.Parallel()
	b := listing(t, "people: [{name: Mei, principals: ['oidc:id.example.com#mei', 'telegram:1', 'oidc:id.example.com#mei2']}, {name: Tom, principals: ['oidc:id.example.com#tom']}]")
	web, telegram := newResponder(t, b, "web"), newResponder(t, b, "telegram")
	linked(t, telegram, web, "telegram:2", signedIn("mei2"))
	var keys []ask.Key
	for i, own := range []string{"telegram:1", "telegram:2"} {
		k := pose(t, b, deploying(fmt.Sprint("d", i), 2))
		_, err := telegram.Answer(t.Context(), k, votes("v1", member(own), true))
		counted(t, err, "1 of 2 approvals: Mei; 1 more needed from group sre")
		keys = append(keys, k)
	}
	away(t, web, signedIn("mei2"), "oidc:id.example.com#ana", "acme")
	away(t, web, signedIn("mei"), "oidc:id.example.com#ana", "")
	away(t, web, signedIn("tom"), "oidc:id.example.com#ana", "acme")
	operator := b.Connect(rights.Role{Name: rights.RoleOperator})
	if _, err := state.Open(operator, state.Operator(), state.Revoked).Put(t.Context(), state.RevokedKey("", "oidc:id.example.com#mei"), map[string]string{"principal": "oidc:id.example.com#mei"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		_, err := web.Answer(t.Context(), k, votes("v2", signedIn("tom"), true))
		counted(t, err, "1 of 2 approvals: Tom; 1 more needed from group sre")
	}
	stand := func(want ...string) {
		t.Helper()
		all, err := web.StandIns(t.Context())
		var absent []string
		for _, s := range all {
			absent = append(absent, s.Absent.Principal)
		}
		if slices.Sort(absent); err != nil || !slices.Equal(absent, want) {
			t.Errorf("away with a stand-in: %q, %v; want %q", absent, err, want)
		}
	}
	stand("oidc:id.example.com#tom") // nobody stands in for who was revoked, and no list says so
	away(t, web, signedIn("mei"), "oidc:id.example.com#ana", "acme")
	stand("oidc:id.example.com#mei", "oidc:id.example.com#tom")
}

// TestARevocationEndsLinksAmongManyThatEnded: markers of an hour hide none.
func TestARevocationEndsLinksAmongManyThatEnded(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	led := b.Ledger()
	for i := range 70 {
		_, err := led.WriteState(t.Context(), &ledger.StateWrite{Bucket: subject.BucketLinks, Key: subject.LinkKey("", "oidc:id.example.com#mei", fmt.Sprint("telegram:", i)), Value: []byte("{}")}, led.Now())
		if err == nil {
			_, err = led.WriteState(t.Context(), &ledger.StateWrite{Bucket: subject.BucketLinks, Key: subject.LinkKey("", "oidc:id.example.com#mei", fmt.Sprint("telegram:", i))}, led.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	value, err := wire.Marshal(wire.StoredLink{Principal: "slack:T1/U1", Account: "oidc:id.example.com#mei"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := led.WriteState(t.Context(), &ledger.StateWrite{Bucket: subject.BucketLinks, Key: subject.LinkKey("", "oidc:id.example.com#mei", "slack:T1/U1"), Value: value}, led.Now()); err != nil {
		t.Fatal(err)
	}
	web := newResponder(t, b, "web")
	revoked := state.Open(b.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Revoked)
	if all, err := web.Links(t.Context()); err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := revoked.Put(t.Context(), state.RevokedKey("", "oidc:id.example.com#mei"), map[string]string{"principal": "oidc:id.example.com#mei"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if all, err := web.Links(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := revoked.Get(t.Context(), state.RevokedKey("", "slack:T1/U1")); err != nil {
		t.Errorf("the chat is not revoked: %v", err)
	}
}

// TestACodeExpires after 10 minutes, whoever has it.
func TestACodeExpires(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	telegram, web := newResponder(t, b, "telegram"), newResponder(t, b, "web")
	code, _, err := telegram.Claim(t.Context(), member("telegram:4711"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.Claimed(t.Context(), signedIn("mei"), code); err != nil {
		t.Errorf("at once: %v", err)
	}
	stop()
	b.BrokerAhead(func() time.Duration { return 11 * time.Minute }, broker.Options{})
	if _, err := web.Link(t.Context(), signedIn("mei"), code); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("after 11 minutes: %v", err)
	}
}

// TestMailIsLinkedByMailOnly: its principals have another scheme than its type.
func TestMailIsLinkedByMailOnly(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	by := ask.By{Principal: "mailto:mei@example.com", Name: "mei@example.com", Proof: ask.ProofEmailLink}
	code, _, err := newResponder(t, b, "email").Claim(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := newResponder(t, b, "web").Link(t.Context(), signedIn("mei"), code); err != nil || l.Principal != by.Principal {
		t.Errorf("%+v, %v", l, err)
	}
	_, _, err = newResponder(t, b, "telegram").Claim(t.Context(), by)
	forbidden(t, "a chat claims an address", err)
	by.Principal = "email:mei"
	_, _, err = newResponder(t, b, "email").Claim(t.Context(), by)
	forbidden(t, "mail claims what is no address", err)
}

// TestAnOperatorForbidsLinks: also those that were made before.
func TestAnOperatorForbidsLinks(t *testing.T) {
	t.Parallel()
	b := listing(t, "self_link: false")
	_, _, err := newResponder(t, b, "telegram").Claim(t.Context(), member("telegram:4711"))
	forbidden(t, "a claim", err)
}

// TestReplicasMakeOneCode: of what each of them hears, one makes a code, and a code
// that was used cannot be made again.
func TestReplicasMakeOneCode(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	web, one, other := newResponder(t, b, "web"), newResponder(t, b, "discord"), newResponder(t, b, "discord")
	by := ask.By{Principal: "discord:4711", Name: "Mei", Proof: ask.ProofDiscord}
	code, _, err := one.ClaimOnce(t.Context(), by, "secret 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.ClaimOnce(t.Context(), by, "secret 1"); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("another replica: %v", err)
	}
	if _, err := web.Link(t.Context(), signedIn("mei"), code); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.ClaimOnce(t.Context(), by, "secret 1"); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("after it was used: %v", err)
	}
	if _, err := web.Link(t.Context(), signedIn("eve"), code); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("used twice: %v", err)
	}
	if again, _, err := other.ClaimOnce(t.Context(), by, "secret 2"); err != nil || again == code {
		t.Errorf("of another message: %s, %v", again, err)
	}
}

// TestSoManyChatsAreOnePerson bounds links and codes of one person.
func TestSoManyChatsAreOnePerson(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	web, telegram := newResponder(t, b, "web"), newResponder(t, b, "telegram")
	var err error
	for i := range 21 {
		var code string
		if code, _, err = telegram.Claim(t.Context(), member(fmt.Sprint("telegram:", i))); err != nil {
			t.Fatal(err)
		}
		if _, err = web.Link(t.Context(), signedIn("mei"), code); i < 20 && err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if !errors.Is(err, ask.ErrQuota) {
		t.Errorf("one more: %v", err)
	}
	for range 6 {
		_, _, err = telegram.Claim(t.Context(), member("telegram:99"))
	}
	if !errors.Is(err, ask.ErrQuota) {
		t.Errorf("a sixth code: %v", err)
	}
}
