package rights

// How many subscriptions one connection of a role may have. Each costs the
// server about 1 KB, in the clients' account and in the ledger's. The need is
// what our own clients have open at most; see [Role.subscriptions].
const (
	fewSubscriptions     = 128     // need: about 12
	surfaceSubscriptions = 1024    // need: about 25, and one for each request for work that waits
	tenantSubscriptions  = 10_000  // need: one for each session with a wait
	brokerSubscriptions  = 10_000  // need: about 40, and one for each list that is being read
	gatewaySubscriptions = 100_000 // need: one for each session with a wait, of all tenants, at most 65,536
)

// subscriptions returns how many subscriptions one connection of the role may
// have; 0: any number. nats-server refuses more with "maximum subscriptions exceeded".
func (r Role) subscriptions() int64 {
	switch r.Name {
	case RoleAdmin, RoleLedgerAdmin:
		return 0
	case RoleGateway, RoleLeaf:
		return gatewaySubscriptions
	case RoleBroker, RoleLedger:
		return brokerSubscriptions
	case RoleAgent:
		if r.Session == "" {
			return tenantSubscriptions
		}
	case RoleResponder:
		if r.Session == "" {
			return surfaceSubscriptions
		}
	}
	return fewSubscriptions
}
