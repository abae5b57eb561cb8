package natsd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A node whose clock is wrong gives up what it leads, says so, and is not
// elected: neither when it is asked to lead, nor when the leader stops. It still
// votes, and leads again when its clock is right.
func TestANodeWithAWrongClockDoesNotLead(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"an hour ahead": time.Hour, "two seconds ahead": 2 * time.Second, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var servers []*natsd.Server
			for _, o := range nodes(t) {
				s, err := natsd.Start(o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(s.Close)
				servers = append(servers, s)
			}
			nc, js := admin(t, servers[2])
			create(t, js)
			lead(t, nc, js, "n3")
			if err := servers[2].Healthy(); err != nil {
				t.Errorf("with a clock that is right: %v", err)
			}
			servers[2].SetClock(ahead)
			leader := ""
			natstest.Eventually(t, "another node leads", func() bool {
				leader = leads(t, js)
				return leader != "" && leader != "n3"
			})
			err := servers[2].Healthy()
			if err == nil {
				t.Fatal("a node with a wrong clock is healthy")
			}
			wants(t, err.Error(), "the clock of this server, n3, is "+ahead.Abs().String())
			_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.ASKS_00", []byte(`{"placement":{"preferred":"n3"}}`), time.Second)
			natstest.Eventually(t, "another node leads again", func() bool {
				leader = leads(t, js)
				if leader == "n3" {
					t.Fatal("a node with a wrong clock was elected")
				}
				return leader != ""
			})
			stopped := int(leader[1] - '1')
			servers[stopped].Close()
			left := fmt.Sprintf("n%d", 2-stopped)               // of n1 and n2
			natstest.Eventually(t, left+" leads", func() bool { // it needs the vote of n3
				leader = leads(t, js)
				return leader == left
			})
			servers[2].SetClock(0)
			lead(t, nc, js, "n3")
			if servers[2].SetClock(0); servers[2].ClockErr() != nil {
				t.Errorf("with its clock set right: %v", servers[2].ClockErr())
			}
		})
	}
}

// leads returns the leader of the stream, if there is one now.
func leads(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	s, err := js.Stream(t.Context(), "ASKS_00")
	if err != nil || s.CachedInfo().Cluster == nil {
		return ""
	}
	return s.CachedInfo().Cluster.Leader
}

// Each server says what its time is, under its own name, to a credential that may
// do nothing else. Nobody else can reply.
func TestEachServerTellsItsTime(t *testing.T) {
	t.Parallel()
	var servers []*natsd.Server
	for _, o := range nodes(t) {
		s, err := natsd.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		servers = append(servers, s)
	}
	nc := natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleClock})
	all := servertime.NewServers(time.Now, 0)
	p, err := servertime.NewPinger(nc, time.Now, func(server string, r servertime.Reading) { all.Note(server, r) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	natstest.Eventually(t, "three servers reply", func() bool { // their routes may not be open yet
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = p.Ping(ctx, func(replied map[string]bool) bool { return len(replied) == 3 })
		return slices.Equal(all.Names(), []string{"n1", "n2", "n3"})
	})
	if err := all.Err(); err != nil {
		t.Error(err)
	}
	for server, ahead := range all.Skews() {
		if ahead.Abs() > servertime.MaxSkew {
			t.Errorf("%s is %s ahead", server, ahead)
		}
	}
	if err := nc.Publish(p.Inbox()+".1", []byte(`{"server":{"name":"n1","time":"2026-01-01T00:00:00Z"}}`)); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "a forged reply is denied", func() bool {
		return nc.Flush() == nil && errors.Is(nc.LastError(), nats.ErrPermissionViolation)
	})
}
