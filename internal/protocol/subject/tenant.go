package subject

import "fmt"

// OfTenant returns the subject of an operator's verb about a whole tenant, with
// [Self] for the key of its credential.
func OfTenant(tenant string, verb Verb) string {
	return Request{Root: Responders, Type: TypeOperator, User: Self, Tenant: tenant, Verb: verb}.String()
}

// LedgerTenant returns the wildcard over everything in one partition that belongs
// to a tenant, receipts included.
func LedgerTenant(p int, tenant string) string {
	return fmt.Sprintf("%s.%02d.%s.>", LedgerRoot, p, tenant)
}
