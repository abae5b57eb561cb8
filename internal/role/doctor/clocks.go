package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/server/rights"
)

const (
	clockProbes = 3
	clockWait   = 200 * time.Millisecond // for the replies to one; servers that are not known yet may reply
)

// askClocks asks each server for its time. A server that does not reply is reported
// elsewhere.
func askClocks(ctx context.Context, as Credential) (*servertime.Servers, error) {
	nc, err := as(rights.Role{Name: rights.RoleClock})
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	all := servertime.NewServers(time.Now, 0)
	p, err := servertime.NewPinger(nc, time.Now, func(server string, r servertime.Reading) { all.Note(server, r) })
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for range clockProbes {
		one, cancel := context.WithTimeout(ctx, clockWait)
		_ = p.Ping(one, func(map[string]bool) bool { return false })
		cancel()
	}
	return all, nil
}

// Clocks judges the servers' clocks, each as its server told it.
func Clocks(s *servertime.Servers, now time.Time) finding.List {
	var l finding.List
	names := strings.Join(s.Names(), ", ")
	own := s.Agreed().Differs(servertime.Reading{At: now, Time: now}, now)
	switch err := s.Err(); {
	case names == "":
		l.Say("clocks", finding.Broken, `no server told its time, so no broker starts: the system_account of the servers must be the one that "askbus auth config" prints, or export what docs/identities.md says`)
	case err != nil:
		l.Say("clocks", finding.Broken, "%v", err)
	case own.Abs() > servertime.MaxSkew:
		l.Say("clocks", finding.Missing, "%s", apart(own))
	default:
		l.Say("clocks", finding.Good, "those of %s and of this machine agree within %s", names, servertime.MaxSkew)
	}
	return l
}

// apart advises on servers whose clocks are ahead of this machine's.
func apart(ahead time.Duration) string {
	by := "behind"
	if ahead < 0 {
		by = "ahead of"
	}
	return fmt.Sprintf("this machine's clock is %s %s the servers': deadlines follow theirs, credentials expire by each machine's own; set the wrong one by NTP", ahead.Abs().Round(100*time.Millisecond), by)
}

// LeadersClocks judges what the leader of each stream said, if the servers cannot
// be asked. Nobody knows which server that was: the leader may just have changed.
func LeadersClocks(in *ledger.Inspection) finding.List {
	var l finding.List
	var says []string
	var least, most, own time.Duration
	for i := range in.Streams {
		s := &in.Streams[i]
		if !s.There {
			continue
		}
		if says == nil {
			least, most = s.Ahead, s.Ahead
		}
		says = append(says, fmt.Sprintf("%s %+.1f s", s.Name, s.Ahead.Seconds()))
		least, most = min(least, s.Ahead+s.Unsure), max(most, s.Ahead-s.Unsure)
		if s.Ahead.Abs() > own.Abs()+s.Unsure {
			own = s.Ahead
		}
	}
	switch {
	case most-least > servertime.MaxSkew:
		l.Say("clocks", finding.Broken, "those of the servers that lead differ (from this machine's: %s): deadlines come early or late; run NTP on all of them", strings.Join(says, ", "))
	case own.Abs() > servertime.MaxSkew:
		l.Say("clocks", finding.Missing, "%s", apart(own))
	default:
		l.Say("clocks", finding.Good, "the leaders' and this machine's agree within %s", servertime.MaxSkew)
	}
	return l
}
