package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/protocol/subject"
)

// backlogMuch is the number of waiting items from which a surface is behind.
const backlogMuch = 100

// Ledger judges the observed ledger.
func Ledger(in *ledger.Inspection, err error) finding.List {
	var l finding.List
	switch {
	case errors.Is(err, ledger.ErrNoLedger):
		if account(&l, in, in.Reserved, true); l.Broken() > 0 {
			l.Say("ledger", finding.Broken, "there is none, and no broker can create it until the account's limits allow it")
		} else {
			l.Say("ledger", finding.Broken, "there is none yet: start a broker, which creates it")
		}
		return l
	case err != nil:
		l.Say("ledger", finding.Broken, "it cannot be inspected: %v; check that JetStream is enabled, that most servers of the cluster run and none says in its /readyz that its disk is full, and that the credential is one of this bus that \"askbus auth maintenance\" makes", err)
		return l
	}
	account(&l, in, 0, slices.ContainsFunc(in.Streams, func(s ledger.StreamInspection) bool { return !s.There }))
	streams(&l, in)
	shares(&l, in)
	copies(&l, in)
	backlogs(&l, in)
	audited(&l, in)
	return l
}

// account judges the limits of the ledger's account: whether they leave room, and for a ledger that lacks streams
// whether a broker can create them beside what others reserved.
func account(l *finding.List, in *ledger.Inspection, reserved int64, lacks bool) {
	domain := ""
	if in.Domain != "" {
		domain = ", in the domain " + in.Domain
	}
	switch {
	case in.MaxStore == 0:
		l.Say("JetStream", finding.Broken, "the account has no storage%s: give it JetStream (max_storage)", domain)
	case lacks && in.Bounded:
		l.Say("JetStream", finding.Broken, "the account may have no stream without max_bytes%s, and those of asks have none: set max_bytes_required of its JWT to false", domain)
	case lacks && in.MaxStreams > 0 && in.HasStreams >= in.MaxStreams:
		l.Say("JetStream", finding.Broken, "the account has all of the %d streams that it may have%s, and the ledger lacks some: raise the account's limit", in.MaxStreams, domain)
	case in.MaxStore > 0 && max(in.Used, reserved) >= in.MaxStore/10*9:
		l.Say("JetStream", finding.Broken, "%s of %s are used%s: raise the account's limit", file.SizeText(max(in.Used, reserved)), file.SizeText(in.MaxStore), domain)
	default:
		l.Say("JetStream", finding.Good, "%s are used%s", file.SizeText(in.Used), domain)
	}
}

// lagMuch is the number of messages from which the audit is behind.
const lagMuch = 10_000

func audited(l *finding.List, in *ledger.Inspection) {
	a := &in.Audit
	full := "drops the oldest when it is full"
	if a.Refuse {
		full = "refuses new records when it is full"
	}
	switch {
	case !a.There:
		l.Say("audit", finding.Broken, "its stream is missing and its records are lost: a broker recreates it within seconds, with what the ledger still holds, or its log says why it cannot; or restore a backup")
	case len(a.Wrong) > 0:
		l.Say("audit", finding.Broken, "%s; restore a backup, or look at the server's log", strings.Join(a.Wrong, "; "))
	case a.Lag >= lagMuch:
		l.Say("audit", finding.Missing, "%d questions and outcomes are not in it yet: the server copies more slowly than asks arrive", a.Lag)
	case a.Refuse && a.Used >= a.Bytes/10*9:
		l.Say("audit", finding.Missing, `%s of %s are used; when full it refuses new records: export it, and raise "askbus ledger set --audit-bytes"`, file.SizeText(a.Used), file.SizeText(a.Bytes))
	case a.Copies < in.Settings.Replicas:
		l.Say("audit", finding.Missing, `it has %d replicas and the ledger has %d: "askbus ledger set --replicas %[2]d" changes that, unless a single server made it: then restore a backup into a new ledger`, a.Copies, in.Settings.Replicas)
	default:
		l.Say("audit", finding.Good, "%s of %s, %d behind; keeps records for %s and %s", file.SizeText(a.Used), file.SizeText(a.Bytes), a.Lag, days(a.Retention), full)
	}
}

// days formats a duration for people: "30 days", "36h0m0s".
func days(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == day:
		return "1 day"
	case d > 0 && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// streams judges partitions and settings.
func streams(l *finding.List, in *ledger.Inspection) {
	var gone, wrong []string
	for i := range in.Streams {
		s := &in.Streams[i]
		if !s.There {
			gone = append(gone, s.Name)
		}
		for _, w := range s.Wrong {
			wrong = append(wrong, s.Name+": "+w)
		}
	}
	if len(gone) > 0 {
		l.Say("partitions", finding.Broken, "missing: %s; their asks are lost: start a broker, which recreates them empty, or restore a backup", strings.Join(gone, ", "))
	} else {
		l.Say("partitions", finding.Good, "all %d, and shared state", in.Settings.Partitions)
	}
	if len(wrong) > 0 {
		l.Say("streams", finding.Broken, `%s; somebody changed them: "askbus ledger set --replicas %d" restores what can be changed of a stream, while brokers run; for the rest restore a backup`, strings.Join(wrong, "; "), in.Settings.Replicas)
	} else {
		l.Say("streams", finding.Good, "as a broker creates them; retention %s, margin %s; NATS does not report sync_interval", days(in.Settings.Retention), days(in.Settings.Margin))
	}
}

// shares judges how much room files and shared state have left, which another --max-store does not change.
func shares(l *finding.List, in *ledger.Inspection) {
	for i := range in.Streams {
		s := &in.Streams[i]
		what, then := "files", "new ones are refused until those of ended asks are past their retention"
		if s.Name == subject.StateStream {
			what, then = "shared state", "nothing new is stored there from 80 % on, such as tokens and sign-ins"
		}
		if s.Most > 0 && s.Used >= s.Most/5*4 {
			l.Say(what, finding.Missing, `%s of %s are used: %s; raise --max-store of servers and brokers, then give them their share of it with "askbus ledger set --max-store SIZE"`, file.SizeText(s.Used), file.SizeText(s.Most), then)
		}
	}
}

// copies judges replicas and leaders.
func copies(l *finding.List, in *ledger.Inspection) {
	var leaderless []string
	offline, behind := map[string][]string{}, map[string][]string{} // streams of each server
	clustered := false
	for i := range in.Streams {
		s := &in.Streams[i]
		clustered = clustered || s.Clustered
		if s.There && s.Clustered && s.Leader == "" {
			leaderless = append(leaderless, s.Name)
		}
		for _, p := range s.Peers {
			switch {
			case p.Offline:
				offline[p.Name] = append(offline[p.Name], s.Name)
			case !p.Current && p.Lag > 0:
				behind[p.Name] = append(behind[p.Name], fmt.Sprintf("%s by %d", s.Name, p.Lag))
			case !p.Current:
				behind[p.Name] = append(behind[p.Name], s.Name)
			}
		}
	}
	n := in.Settings.Replicas
	switch {
	case len(leaderless) > 0:
		l.Say("replicas", finding.Broken, "no leader for %s: nothing is stored there; start the missing servers, a majority must run", strings.Join(leaderless, ", "))
	case len(offline)+len(behind) > 0:
		says := slices.Concat(each(offline, "server %s is offline (%s)"), each(behind, "server %s is behind (%s)"))
		l.Say("replicas", finding.Missing, "%s; until that is fixed, the failure of one more server may stop everything: see the /readyz of that server, which says for example that its disk is full", strings.Join(says, ", "))
	case clustered && n == 1:
		l.Say("replicas", finding.Missing, `one replica of each stream in a cluster: a failed server stops its partitions; raise it with "askbus ledger set --replicas 3"`)
	case n == 2 || n == 4:
		l.Say("replicas", finding.Missing, "%d replicas survive no more failures than %d, and cost more: use 3 or 5", n, n-1)
	default:
		l.Say("replicas", finding.Good, "%d of each stream, all current", n)
	}
}

// each formats the streams of each server, in order.
func each(servers map[string][]string, format string) (says []string) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		says = append(says, fmt.Sprintf(format, name, strings.Join(servers[name], ", ")))
	}
	return says
}

// backlogs judges the work of posting surfaces over all partitions.
func backlogs(l *finding.List, in *ledger.Inspection) {
	type work struct {
		waiting         uint64
		underWay, again int
	}
	if in.Unlisted != nil {
		l.Say("backlog", finding.Broken, "it cannot be read: %v; a server does not answer for a stream that it leads: /readyz of each says which cannot store, such as with a full disk", in.Unlisted)
	}
	all := map[string]*work{}
	for i := range in.Streams {
		for _, c := range in.Streams[i].Consumers {
			w := all[c.Name]
			if w == nil {
				w = &work{}
				all[c.Name] = w
			}
			w.waiting += c.Waiting
			w.underWay += c.UnderWay
			w.again += c.Redelivered
		}
	}
	for name, w := range all {
		what, things := "backlog of "+name[:max(0, strings.LastIndex(name, "-"))], "asks to post"
		if strings.HasSuffix(name, "-o") {
			what, things = what+" (outcomes)", "cards to close"
		}
		switch {
		case w.waiting >= backlogMuch && w.underWay == 0:
			l.Say(what, finding.Broken, "%d %s, and no replica takes work: start the surface, or remove it from the deployment and its consumers %s from the streams", w.waiting, things, name)
		case w.waiting >= backlogMuch:
			l.Say(what, finding.Missing, "%d %s, %d in progress: start more replicas, or check what the surface waits for", w.waiting, things, w.underWay)
		case w.again > 0:
			l.Say(what, finding.Missing, "%d work items were delivered more than once: replicas of the surface die, or lose the bus, while they post; see their log", w.again)
		default:
			l.Say(what, finding.Good, "%d %s, %d in progress", w.waiting, things, w.underWay)
		}
	}
	sort.SliceStable(*l, func(i, j int) bool {
		x, y := (*l)[i].What, (*l)[j].What
		return strings.HasPrefix(x, "backlog") && strings.HasPrefix(y, "backlog") && x < y
	})
}
