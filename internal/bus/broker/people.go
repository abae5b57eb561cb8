package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// listed returns the operator's list of people, and whether people may link their
// chats; a nil list: there is none.
func (b *Broker) listed() (list map[string]string, links bool) {
	if b.opts.Approvals == nil {
		return nil, true
	}
	f := b.opts.Approvals()
	return f.Linked(), f.LinksAllowed()
}

// people returns who is who for a decision. Only an ask that needs to know has links
// read: those of its voters, of whom it excludes, and of who acts now.
func (b *Broker) people(ctx context.Context, tenant string, s *lifecycle.State, c lifecycle.Command) (ask.People, error) {
	list, _ := b.listed()
	p := ask.People{List: list}
	reply, _ := c.(lifecycle.Reply)
	alone := reply.Reply.BreakGlass != nil
	if !s.Pending() || !s.Ask.NeedsPerson() && !alone {
		return p, nil
	}
	matter := slices.Clone(s.Ask.Exclude)
	if s.Ask.ExcludeAsker || alone {
		matter = append(matter, s.Ask.Asker...)
	}
	for _, v := range s.Votes() {
		if matter = append(matter, v.By.Principal); v.By.For != nil {
			matter = append(matter, v.By.For.Principal)
		}
	}
	if by, ok := lifecycle.Person(c); ok {
		matter = append(matter, by.Principal)
	} else if u, ok := c.(lifecycle.Unvote); ok {
		matter = append(matter, u.Reply.By.Principal)
	}
	if err := b.addLinks(ctx, tenant, &p, matter...); err != nil {
		return p, err
	}
	for _, one := range s.Ask.Asker { // they are one person's
		if account := p.Links[one]; account != "" {
			for _, other := range s.Ask.Asker {
				if p.Links[other] == "" {
					p.Links[other] = account
				}
			}
			break
		}
	}
	return p, nil
}

// addLinks adds whose the principals are, as far as their people linked them and the
// operator's list does not say it.
func (b *Broker) addLinks(ctx context.Context, tenant string, p *ask.People, principals ...string) error {
	if _, allowed := b.listed(); !allowed {
		return nil
	}
	for i, principal := range principals {
		if principal == "" || p.List[principal] != "" || p.Links[principal] != "" || slices.Contains(principals[:i], principal) {
			continue
		}
		account, err := b.accountOf(ctx, tenant, principal)
		if err != nil {
			return err
		}
		if account == "" {
			continue
		}
		if p.Links == nil {
			p.Links = map[string]string{}
		}
		p.Links[principal], p.Links[account] = account, account
	}
	return nil
}

// accountOf returns the principal of who linked another one, for asks of a tenant;
// empty: nobody did.
func (b *Broker) accountOf(ctx context.Context, tenant, principal string) (string, error) {
	all, _, err := b.linksOf(ctx, subject.LinksOf(principal), b.led.Now())
	if err != nil {
		return "", fmt.Errorf("broker: who is %.80q: %w", principal, err)
	}
	for i := range all {
		if one := &all[i]; one.Principal == principal && (one.Key.Tenant == "" || one.Key.Tenant == tenant) {
			return one.Account, nil
		}
	}
	return "", nil
}

// selves returns all principals of the person that a principal is, itself first.
func (b *Broker) selves(ctx context.Context, tenant, principal string) ([]string, error) {
	all := []string{principal}
	add := func(one string) {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	list, allowed := b.listed()
	if allowed && list[principal] == "" {
		account, err := b.accountOf(ctx, tenant, principal)
		if err != nil {
			return nil, err
		}
		if account != "" {
			add(account)
		}
	}
	for _, one := range slices.Clone(all) {
		if name := list[one]; name != "" {
			for other, of := range list {
				if of == name {
					add(other)
				}
			}
		}
	}
	if !allowed {
		return all, nil
	}
	for _, account := range slices.Clone(all) {
		links, _, err := b.linksOf(ctx, subject.LinksBy(account), b.led.Now())
		if err != nil {
			return nil, err
		}
		for i := range links {
			if one := &links[i]; list[one.Principal] == "" && (one.Key.Tenant == "" || one.Key.Tenant == tenant) {
				add(one.Principal)
			}
		}
	}
	return all, nil
}

// revokeOthers does to the other principals of a person, by the operator's list and by
// links, what a revocation, which was just written, does to one: their votes of before
// count no more, and their stand-ins and links of that tenant end; of all, if it is of
// no tenant.
func (b *Broker) revokeOthers(ctx context.Context, r *stateRequest, w *ledger.StateWrite) error {
	var said revocation
	if err := json.Unmarshal(w.Value, &said); err != nil || said.Principal == "" {
		return nil //nolint:nilerr // the write was checked before: it revokes no person
	}
	accounts := []string{said.Principal}
	list, _ := b.listed()
	for other, name := range list {
		if other != said.Principal && name == list[said.Principal] {
			if err := b.revokeToo(ctx, r, w, other); err != nil {
				return err
			}
			accounts = append(accounts, other)
		}
	}
	for _, account := range accounts {
		if err := b.endStandIns(ctx, r, w, account); err != nil {
			return err
		}
		all, err := b.everyLink(ctx, subject.LinksBy(account), b.led.Now())
		if err != nil {
			return err
		}
		for i := range all {
			one, link := &all[i], *r
			if err := b.revokeToo(ctx, r, w, one.Principal); err != nil {
				return err
			}
			if r.Key.Tenant != "" && r.Key.Tenant != one.Key.Tenant {
				continue
			}
			link.Bucket, link.Verb, link.Key = subject.BucketLinks, subject.VerbDelete, one.Key
			if _, err := b.writeState(ctx, &link, &ledger.StateWrite{Bucket: link.Bucket, Key: link.Key, ID: w.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// revokeToo writes a revocation of another principal.
func (b *Broker) revokeToo(ctx context.Context, r *stateRequest, w *ledger.StateWrite, principal string) error {
	mark := *r
	mark.Key = subject.RevokedKey(r.Key.Tenant, principal)
	value, err := wire.Marshal(revocation{principal})
	if err != nil {
		return err
	}
	_, err = b.writeState(ctx, &mark, &ledger.StateWrite{Bucket: mark.Bucket, Key: mark.Key, Value: value, Expires: w.Expires, ID: w.ID})
	return err
}

// revocation is an entry of the bucket revoked-people.
type revocation struct {
	Principal string `json:"principal"`
}
