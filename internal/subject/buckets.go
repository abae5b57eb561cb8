package subject

import (
	"slices"
	"time"
)

// The buckets of shared state.
const (
	BucketTokens     = "tokens"          // API tokens, hashed
	BucketTokenUses  = "token-uses"      // when each was last used
	BucketSessions   = "people-sessions" // who is signed in, by the hash of the session's id
	BucketLoginLinks = "login-links"     // one-time links that were used
	BucketPasskeys   = "passkeys"        // who has a passkey, and its public keys
	BucketSnoozes    = "snoozes"         // what each person put off
	BucketHandovers  = "handovers"       // whom an ask was handed to
	BucketPush       = "push"            // push subscriptions of browsers
	BucketPolicy     = "policy"          // what operators decided, by tenant
	BucketLeases     = "leases"          // that an agent's session is alive
)

// Bucket is what holds of one bucket: its bounds, and who may do what.
type Bucket struct {
	Name      string
	MaxValue  int           // bytes of one value
	MaxTTL    time.Duration // the longest that an entry may be asked to live
	NeedsTTL  bool          // an entry without a TTL is refused
	PerTenant int           // entries of one tenant, or of none
	Most      int           // entries of the bucket
	Grants    []Grant
}

// Grant allows a role some verbs. Type narrows responders to one type.
type Grant struct {
	Role  StateRole
	Type  string
	Verbs []Verb
}

// May reports whether a role (a responder: of a type) may use a verb.
func (b *Bucket) May(role StateRole, typ string, verb Verb) bool {
	return slices.ContainsFunc(b.Grants, func(g Grant) bool {
		return g.Role == role && (g.Type == "" || g.Type == typ) && slices.Contains(g.Verbs, verb)
	})
}

// FindBucket finds a bucket by its name.
func FindBucket(name string) (Bucket, bool) {
	for _, b := range Buckets() {
		if b.Name == name {
			return b, true
		}
	}
	return Bucket{}, false
}

// Buckets is the table: every bucket with its bounds and its rights. NATS
// checks them, as they make the rights of [StateRights]; the broker checks them
// again.
func Buckets() []Bucket {
	const day = 24 * time.Hour
	read := []Verb{VerbGet, VerbList, VerbWatch}
	write := []Verb{VerbGet, VerbList, VerbWatch, VerbPut, VerbDelete}
	remove := []Verb{VerbGet, VerbList, VerbWatch, VerbDelete}
	operators := func(verbs []Verb) Grant { return Grant{StateOperator, "", verbs} }
	return []Bucket{
		{BucketTokens, 4 << 10, 3650 * day, false, 10_000, 10_000, []Grant{operators(write), {StateGateway, "", read}, {StateIssuer, "", []Verb{VerbGet}}}},
		{BucketTokenUses, 256, 400 * day, true, 10_000, 10_000, []Grant{operators(remove), {StateGateway, "", []Verb{VerbPut}}, {StateIssuer, "", []Verb{VerbPut}}}},
		{BucketSessions, 16 << 10, 30 * day, true, 10_000, 20_000, []Grant{operators(remove), {StateResponder, "web", write}, {StateIssuer, "", read}}},
		{BucketLoginLinks, 256, 8 * day, true, 10_000, 20_000, []Grant{{StateResponder, "web", []Verb{VerbPut}}}},
		{BucketPasskeys, 16 << 10, 3650 * day, false, 2_000, 5_000, []Grant{operators(remove), {StateResponder, "web", write}}},
		{BucketSnoozes, 1 << 10, 30 * day, true, 5_000, 50_000, []Grant{operators(remove), {StateGateway, "", write}, {StateResponder, "", write}}},
		{BucketHandovers, 4 << 10, 30 * day, true, 5_000, 10_000, []Grant{operators(remove), {StateGateway, "", read}, {StateResponder, "", write}}},
		{BucketPush, 4 << 10, 400 * day, true, 2_000, 10_000, []Grant{operators(remove), {StateResponder, "web", write}, {StateResponder, "push", remove}}},
		{BucketPolicy, 32 << 10, 3650 * day, false, 100, 5_000, []Grant{operators(write), {StateGateway, "", read}, {StateResponder, "", read}}},
		{BucketLeases, 512, day, true, 10_000, 50_000, []Grant{
			operators(remove),
			{StateGateway, "", write},
			{StateResponder, "", read},
			{StateAgent, "", []Verb{VerbGet, VerbPut, VerbDelete}},
		}},
	}
}

// StateRights are the subjects about shared state that a credential may publish
// and subscribe to. A responder of one tenant has them for that tenant alone;
// one of a single session, and whoever is none of these roles, has none.
func StateRights(role StateRole, typ, tenant, session string) (publish, subscribe []string) {
	if role == StateResponder && session != "" {
		return nil, nil
	}
	for _, b := range Buckets() {
		for _, verb := range []Verb{VerbGet, VerbPut, VerbDelete, VerbList, VerbWatch} {
			if !b.May(role, typ, verb) {
				continue
			}
			at := StateRequest{Role: role, Type: typ, Tenant: tenant, Session: session, Bucket: b.Name, Verb: verb, Key: StateKey{Tenant: tenant, Name: ">"}}
			narrow := role == StateResponder && tenant != ""
			switch {
			case verb == VerbWatch:
				subscribe = append(subscribe, OutState(b.Name, tenant, !narrow))
			case role == StateAgent, narrow:
				publish = append(publish, at.String())
			case verb == VerbList:
				at.Every = true
				publish = append(publish, at.String(), at.String()+".*")
			default:
				publish = append(publish, at.upToVerb()+".>")
			}
		}
	}
	return publish, subscribe
}
