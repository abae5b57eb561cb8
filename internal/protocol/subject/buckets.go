package subject

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// The buckets of shared state.
const (
	BucketTokens        = "tokens"          // API tokens, hashed
	BucketTokenUses     = "token-uses"      // when each was last used
	BucketSessions      = "people-sessions" // signed-in people, by the hash of the session's id
	BucketLoginLinks    = "login-links"     // used one-time links
	BucketRevoked       = "revoked-people"  // when a person's sign-ins were last ended for them: their votes of before count no more
	BucketPasskeys      = "passkeys"        // people's passkeys, with their public keys
	BucketSnoozes       = "snoozes"         // the asks that each person put off; brokers write them
	BucketHandovers     = "handovers"       // to whom asks were handed over; brokers write them
	BucketStandIns      = "stand-ins"       // who stands in for whom; brokers write them
	BucketClaims        = "link-claims"     // codes with which a chat's member can be linked to a person; brokers write them
	BucketLinks         = "links"           // which members of chats are which people, as they say; brokers write them
	BucketPush          = "push"            // push subscriptions of browsers
	BucketLeases        = "leases"          // liveness of agents' sessions
	BucketCallbacks     = "callbacks"       // the names under which asks may be called back, without the addresses
	BucketDeliveries    = "deliveries"      // webhooks that are sent later, and failures
	BucketTaskPushes    = "task-pushes"     // the callbacks that A2A clients chose for their tasks
	BucketRepeats       = "repeats"         // the latest ask of each content that has no id of its own; for the broker only
	BucketReplicas      = "replicas"        // living replicas of posting surfaces, which share the limits of a foreign service
	BucketConversations = "conversations"   // where a chat may be written to, as it told us
	BucketRemoved       = "removed-tenants" // tenants that are removed or being removed; brokers write them
	BucketMail          = "mail"            // which mails were sent, who wants none, and what came back
)

// Bucket describes one bucket: its bounds and permissions.
type Bucket struct {
	Name      string
	MaxValue  int           // bytes of one value
	MaxTTL    time.Duration // maximum TTL of an entry
	NeedsTTL  bool          // an entry without a TTL is refused
	PerTenant int           // entries of one tenant, or of none
	Most      int           // entries of the bucket
	Grants    []Grant
	OwnType   bool // a responder's keys begin with its type
}

// OutlivesTenant reports whether the entries of a bucket stay until they expire when
// their tenant is removed: they say what no longer counts, and without them a used
// link to sign in, or the vote of somebody whose sign-ins were ended, would count again.
func OutlivesTenant(bucket string) bool {
	return bucket == BucketLoginLinks || bucket == BucketRevoked
}

// SnoozeKey returns the entry in [BucketSnoozes] of a person and an ask. The
// person is hashed, since principals are not tokens.
func SnoozeKey(principal string, k Key) StateKey {
	return StateKey{Tenant: k.Tenant, Name: SnoozerToken(principal) + "." + k.Session + "." + k.ID}
}

// SnoozerToken returns the first token of a person's [SnoozeKey]s.
func SnoozerToken(principal string) string {
	return hashed("snooze", principal, 18)
}

// StandInKey returns the entry in [BucketStandIns] of who stands in for whom.
func StandInKey(tenant, standIn, absent string) StateKey {
	return StateKey{Tenant: tenant, Name: standInToken(standIn) + "." + standInToken(absent)}
}

// StandInsBy and StandInsFor return the wildcards over the ledger's entries of who
// stands in, and of who is away, in one tenant; StandInsOf is that of who is away in all.
func StandInsBy(tenant, standIn string) string {
	return StateLedger + "." + BucketStandIns + "." + StateKey{Tenant: tenant}.scope() + "." + standInToken(standIn) + ".*"
}

// StandInsFor is described at [StandInsBy].
func StandInsFor(tenant, absent string) string {
	return StateLedger + "." + BucketStandIns + "." + StateKey{Tenant: tenant}.scope() + ".*." + standInToken(absent)
}

// StandInsOf is described at [StandInsBy].
func StandInsOf(absent string) string {
	return StateLedger + "." + BucketStandIns + ".*.*." + standInToken(absent)
}

func standInToken(principal string) string { return hashed("stand-in", principal, 18) }

// ClaimKey returns the entry in [BucketClaims] of a code, as [CodeToken] returns it,
// and the principal for which it was made.
func ClaimKey(tenant, code, principal string) StateKey {
	return StateKey{Tenant: tenant, Name: code + "." + linkToken(principal)}
}

// ClaimsByCode and ClaimsOf return the wildcards over the ledger's entries of a code
// in one tenant (empty: in none), or in all, and of a principal.
func ClaimsByCode(tenant, code string, every bool) string {
	return StateLedger + "." + BucketClaims + "." + scopeOrAll(tenant, every) + "." + code + ".*"
}

// ClaimsOf is described at [ClaimsByCode].
func ClaimsOf(tenant, principal string) string {
	return StateLedger + "." + BucketClaims + "." + StateKey{Tenant: tenant}.scope() + ".*." + linkToken(principal)
}

// CodeToken returns what is stored and sent of the code of a claim.
func CodeToken(code string) string { return hashed("link code", code, sha256.Size) }

// LinkKey returns the entry in [BucketLinks] of a principal that an account linked.
func LinkKey(tenant, account, principal string) StateKey {
	return StateKey{Tenant: tenant, Name: linkToken(account) + "." + linkToken(principal)}
}

// LinksOf and LinksBy return the wildcards over the ledger's entries, of every tenant
// and of none, of a principal that was linked, and of the account that linked it.
func LinksOf(principal string) string {
	return StateLedger + "." + BucketLinks + ".*.*." + linkToken(principal)
}

// LinksBy is described at [LinksOf].
func LinksBy(account string) string {
	return StateLedger + "." + BucketLinks + ".*." + linkToken(account) + ".*"
}

func scopeOrAll(tenant string, every bool) string {
	if every {
		return "*"
	}
	return StateKey{Tenant: tenant}.scope()
}

func linkToken(principal string) string { return hashed("link", principal, sha256.Size) }

// hashed returns a token for a text that cannot be one, such as a principal: the first n bytes of its hash. Each use has
// hashes of its own.
func hashed(use, text string, n int) string {
	sum := sha256.Sum256([]byte("askbus " + use + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:n])
}

// RevokedKey returns the entry in [BucketRevoked] of a person in a tenant; empty:
// in all of them.
func RevokedKey(tenant, principal string) StateKey {
	return StateKey{Tenant: tenant, Name: hashed("revoked", principal, sha256.Size)}
}

// AskKey returns the entry of an ask in [BucketTaskPushes] and [BucketHandovers].
func AskKey(k Key) StateKey { return StateKey{Tenant: k.Tenant, Name: k.Session + "." + k.ID} }

// Grant allows a role some verbs. Type restricts responders to one type.
type Grant struct {
	Role  StateRole
	Type  string
	Verbs []Verb
}

// May reports whether a role (and for responders, a type, by its kind) may use a verb.
func (b *Bucket) May(role StateRole, typ string, verb Verb) bool {
	return slices.ContainsFunc(b.Grants, func(g Grant) bool {
		return g.Role == role && (g.Type == "" || g.Type == ask.SurfaceKind(typ)) && slices.Contains(g.Verbs, verb)
	})
}

// begins returns what the names of the entries begin with that a sender may get, put
// and delete.
func (b *Bucket) begins(role StateRole, typ string) string {
	if b.OwnType && role == StateResponder {
		return typ + "."
	}
	return ""
}

// FindBucket returns the bucket with this name.
func FindBucket(name string) (Bucket, bool) {
	for _, b := range Buckets() {
		if b.Name == name {
			return b, true
		}
	}
	return Bucket{}, false
}

// Buckets returns every bucket with its bounds and permissions. NATS enforces
// them through [StateRights]; the broker checks them again.
func Buckets() []Bucket {
	const day = 24 * time.Hour
	read := []Verb{VerbGet, VerbList, VerbWatch}
	write := []Verb{VerbGet, VerbList, VerbWatch, VerbPut, VerbDelete}
	remove := []Verb{VerbGet, VerbList, VerbWatch, VerbDelete}
	operators := func(verbs []Verb) Grant { return Grant{StateOperator, "", verbs} }
	return []Bucket{
		{BucketTokens, 4 << 10, 3650 * day, false, 10_000, 10_000, []Grant{operators(write), {StateGateway, "", read}, {StateIssuer, "", read}}, false},
		{BucketTokenUses, 256, 400 * day, true, 10_000, 10_000, []Grant{operators(remove), {StateGateway, "", []Verb{VerbPut}}, {StateIssuer, "", []Verb{VerbPut}}}, false},
		{BucketSessions, 16 << 10, 30 * day, true, 10_000, 20_000, []Grant{operators(remove), {StateResponder, "web", write}, {StateIssuer, "", read}}, false},
		{BucketLoginLinks, 256, 8 * day, true, 10_000, 20_000, []Grant{{StateResponder, "web", []Verb{VerbPut}}}, false},
		{BucketRevoked, 1 << 10, 92 * day, true, 5_000, 5_000, []Grant{operators(write), {StateResponder, "web", []Verb{VerbPut}}, {StateResponder, "email", []Verb{VerbGet}}}, false},
		{BucketPasskeys, 16 << 10, 3650 * day, false, 2_000, 5_000, []Grant{operators(remove), {StateResponder, "web", write}}, false},
		{BucketSnoozes, 1 << 10, 30 * day, true, 5_000, 50_000, []Grant{operators(remove), {StateGateway, "", read}, {StateResponder, "", read}}, false},
		{BucketHandovers, 4 << 10, 30 * day, true, 5_000, 10_000, []Grant{operators(remove), {StateGateway, "", read}, {StateResponder, "", read}}, false},
		{BucketStandIns, 16 << 10, 91 * day, true, 2_000, 10_000, []Grant{operators(remove), {StateResponder, "", []Verb{VerbList, VerbWatch}}}, false},
		{BucketClaims, 2 << 10, day, true, 2_000, 10_000, []Grant{operators(remove)}, false},
		{BucketLinks, 2 << 10, 3650 * day, false, 20_000, 50_000, []Grant{operators(remove), {StateResponder, TypeWeb, []Verb{VerbList, VerbWatch}}}, false},
		{BucketPush, 4 << 10, 400 * day, true, 2_000, 10_000, []Grant{operators(remove), {StateResponder, "web", write}, {StateResponder, "push", remove}}, false},
		{BucketLeases, 512, day, true, 10_000, 50_000, []Grant{
			operators(remove),
			{StateGateway, "", write},
			{StateResponder, "", read},
			{StateAgent, "", []Verb{VerbGet, VerbPut, VerbDelete}},
		}, false},
		{BucketCallbacks, 4 << 10, 3650 * day, false, 100, 5_000, []Grant{operators(remove), {StateGateway, "", []Verb{VerbList}}, {StateResponder, TypeWebhook, write}}, false},
		{BucketDeliveries, 2 << 10, 30 * day, true, 10_000, 50_000, []Grant{operators(remove), {StateResponder, TypeWebhook, write}}, false},
		{BucketTaskPushes, 8 << 10, 40 * day, true, 10_000, 50_000, []Grant{operators(remove), {StateGateway, "", []Verb{VerbGet, VerbPut, VerbDelete}}, {StateResponder, TypeWebhook, []Verb{VerbGet, VerbDelete}}}, false},
		{BucketRepeats, 256, 31 * day, true, 10_000, 50_000, []Grant{operators(remove)}, false},
		{BucketRemoved, 4 << 10, 3650 * day, false, 1_000, 1_000, []Grant{operators([]Verb{VerbGet, VerbList})}, false},
		{BucketMail, 1 << 10, 400 * day, true, 20_000, 50_000, []Grant{operators(remove), {StateResponder, "email", write}}, false},
		{BucketReplicas, 64, day, true, 1_000, 5_000, []Grant{operators(remove), {StateResponder, "", []Verb{VerbList, VerbWatch, VerbPut, VerbDelete}}}, true},
		{BucketConversations, 2 << 10, 400 * day, true, 10_000, 20_000, []Grant{operators(remove), {StateResponder, "", []Verb{VerbGet, VerbPut, VerbDelete}}}, true},
	}
}

// StateRights returns the subjects of shared state that a credential may
// publish and subscribe to. A responder of one tenant has rights for that
// tenant only; one of a single session, and every other role, has none.
func StateRights(role StateRole, typ, tenant, session string) (publish, subscribe []string) {
	if role == StateResponder && session != "" {
		return nil, nil
	}
	for _, b := range Buckets() {
		for _, verb := range []Verb{VerbGet, VerbPut, VerbDelete, VerbList, VerbWatch} {
			if !b.May(role, typ, verb) {
				continue
			}
			at := StateRequest{Role: role, Type: typ, Tenant: tenant, Session: session, Bucket: b.Name, Verb: verb, Key: StateKey{Tenant: tenant, Name: b.begins(role, typ) + ">"}}
			narrow := role == StateResponder && tenant != ""
			switch {
			case verb == VerbWatch:
				subscribe = append(subscribe, OutState(b.Name, tenant, !narrow))
			case role == StateAgent, narrow:
				publish = append(publish, at.String())
			case verb == VerbList:
				at.Every = true
				publish = append(publish, at.String(), at.String()+".*")
			case b.OwnType:
				publish = append(publish, at.upToVerb()+".*."+at.Key.Name)
			default:
				publish = append(publish, at.upToVerb()+".>")
			}
		}
	}
	return publish, subscribe
}
