package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// Broker is a broker's report about itself.
type Broker struct {
	ID      string
	Version string
	Used    int64 // bytes of the ledger
	Budget  int64 // 0: unknown
	Reserve int64

	broker.Settings
}

// settle is how long to wait for another broker's reply.
const settle = 500 * time.Millisecond

// askBrokers requests the statistics of every broker.
func askBrokers(ctx context.Context, nc *nats.Conn) ([]Broker, error) {
	infos, err := everybody(ctx, nc, "$SRV.INFO.askbus")
	if err != nil {
		return nil, err
	}
	stats, err := everybody(ctx, nc, subject.BrokerStats)
	if err != nil {
		return nil, err
	}
	byID := map[string]*Broker{}
	for _, data := range infos {
		var info struct {
			ID       string            `json:"id"`
			Metadata map[string]string `json:"metadata"`
		}
		if json.Unmarshal(data, &info) == nil && info.ID != "" {
			byID[info.ID] = &Broker{ID: info.ID, Version: info.Metadata["version"]}
		}
	}
	for _, data := range stats {
		var s struct {
			ID        string `json:"id"`
			Endpoints []struct {
				Data struct {
					Used    int64 `json:"ledger_bytes"`
					Budget  int64 `json:"ledger_budget"`
					Reserve int64 `json:"ledger_reserve"`
					broker.Settings
				} `json:"data"`
			} `json:"endpoints"`
		}
		if json.Unmarshal(data, &s) != nil || byID[s.ID] == nil || len(s.Endpoints) == 0 {
			continue
		}
		b, d := byID[s.ID], s.Endpoints[0].Data
		b.Used, b.Budget, b.Reserve, b.Settings = d.Used, d.Budget, d.Reserve, d.Settings
	}
	all := make([]Broker, 0, len(byID))
	for _, b := range byID {
		all = append(all, *b)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all, nil
}

// everybody collects all replies to a request.
func everybody(ctx context.Context, nc *nats.Conn, subject string) (replies [][]byte, err error) {
	for data, err := range connection.Everybody(ctx, nc, subject, nc.NewInbox(), 2*time.Second, settle) {
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", subject, err)
		}
		replies = append(replies, data)
	}
	return replies, nil
}

// Brokers judges the brokers' reports.
func Brokers(all []Broker, err error) finding.List {
	var l finding.List
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		l.Say("brokers", finding.Missing, "not checked: the checks before them took all the time")
		return l
	case err != nil:
		l.Say("brokers", finding.Broken, "they cannot be queried: %v; use an operator's credential", err)
		return l
	}
	if len(all) == 0 {
		l.Say("brokers", finding.Broken, "none responds: agents are refused and nobody can answer; start one, or see in its log why it does not connect")
		return l
	}
	versions := map[string]int{}
	for i := range all {
		versions[all[i].Version]++
	}
	var says []string
	for v, n := range versions {
		says = append(says, fmt.Sprintf("%d of %s", n, v))
	}
	slices.Sort(says)
	if len(versions) > 1 {
		l.Say("brokers", finding.Missing, "their versions differ (%s), as they should only during an upgrade; finish it", strings.Join(says, ", "))
	} else {
		l.Say("brokers", finding.Good, "%s", strings.Join(says, ", "))
	}
	agree(&l, all)
	b := slices.MaxFunc(all, func(a, b Broker) int { return int(a.Used - b.Used) })
	raise := "raise --max-store of the brokers and of the servers, all to the same"
	if b.Server != "" && b.Budget == b.ServerMaxStore && b.MaxStore > b.ServerMaxStore {
		raise = fmt.Sprintf("raise --max-store (max_file_store) of server %s, which limits them: that of the brokers is larger already", b.Server)
	}
	used, budget, reserve := file.SizeText(b.Used), file.SizeText(b.Budget), file.SizeText(b.Reserve)
	switch {
	case b.Budget == 0:
		l.Say("budget", finding.Missing, "no limit is set: a full disk stops everything at once; give the brokers --max-store")
	case b.Used >= b.Budget/5*4 || b.Used+b.Reserve >= b.Budget/20*19:
		l.Say("budget", finding.Broken, "%s of %s are used and %s reserved: new asks are refused (ledger_full); %s", used, budget, reserve, raise)
	case b.Used+b.Reserve >= b.Budget/20*13:
		l.Say("budget", finding.Missing, "%s of %s are used and %s reserved: new asks are refused from 80 %% on; %s", used, budget, reserve, raise)
	default:
		l.Say("budget", finding.Good, "%s of %s are used, %s reserved", used, budget, reserve)
	}
	return l
}

// agree judges whether brokers and servers have the same limits.
func agree(l *finding.List, all []Broker) {
	stores, policies, approvals, unread := map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}
	for i := range all {
		b := &all[i]
		who := fmt.Sprintf("broker %s on %s", b.ID, b.Host)
		store, policy := file.SizeText(b.MaxStore), "of digest "+b.Policy
		if b.MaxStore == 0 {
			store = "none"
		}
		if b.Policy == "" {
			policy = "none"
		}
		approval := "of digest " + b.Approvals
		if b.Approvals == "" {
			approval = "none"
		}
		for _, why := range b.Unread {
			unread[why] = append(unread[why], who)
		}
		approvals[approval] = append(approvals[approval], who)
		stores[store], policies[policy] = append(stores[store], who), append(policies[policy], who)
	}
	if len(stores) > 1 {
		l.Say("max-store", finding.Missing, "brokers have different ones (%s), and the one that an ask reaches decides: start all with the same", values(stores))
	}
	if len(policies) > 1 {
		l.Say("policy", finding.Missing, "brokers have different ones (%s), and the one that a request reaches decides: give all the same file", values(policies))
	}
	if len(approvals) > 1 {
		l.Say("approvals", finding.Broken, "brokers have different ones (%s), and the one that an ask reaches decides whose votes it needs: give all the same file", values(approvals))
	}
	if len(unread) > 0 {
		l.Say("files", finding.Broken, "%s: the previous content counts, and the next start of that broker fails: correct them", values(unread))
	}
	b := &all[0]
	switch {
	case len(stores) > 1:
	case b.Server == "":
		l.Say("max-store", finding.Missing, "no NATS server says how much it may store, and a full one refuses answers too: keep --max-store of the brokers below its max_file_store")
	case b.MaxStore > b.ServerMaxStore:
		l.Say("max-store", finding.Missing, "%s at the brokers and %s at server %s, which counts: start all with the same", file.SizeText(b.MaxStore), file.SizeText(b.ServerMaxStore), b.Server)
	}
}

// values lists who has which value.
func values(of map[string][]string) string {
	var says []string
	for _, value := range slices.Sorted(maps.Keys(of)) {
		who := of[value]
		if len(who) > 3 {
			who = append(who[:3:3], fmt.Sprintf("%d more", len(who)-3))
		}
		says = append(says, value+" at "+strings.Join(who, ", "))
	}
	return strings.Join(says, "; ")
}

// loopback reports whether a URL is on this machine.
func loopback(at string) bool {
	u, err := url.Parse(at)
	return err == nil && (u.Host == "" || httpserver.LoopbackHost(u.Host))
}
