package slack

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteMetrics writes the surface's metrics in Prometheus's text format. The
// tenant tells workspaces apart: one that hears nothing must not hide behind
// another.
func (s *App) WriteMetrics(w io.Writer) {
	tenant := ""
	if s.Bus != nil {
		tenant = s.Bus.Tenant()
	}
	metric := func(name, kind, help string, value int) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s{tenant=%q} %d\n", name, help, name, kind, name, tenant, value)
	}
	st := &s.sockets
	st.mu.Lock()
	live, known, opened, ended := st.live, st.known, st.opened, maps.Clone(st.ended)
	st.mu.Unlock()
	if s.opts.AppToken != "" {
		metric("askbus_slack_connections_live", "gauge", "Socket Mode connections of this process that answer pings.", live)
		metric("askbus_slack_num_connections", "gauge", "Socket Mode connections of the app, as Slack said in its last hello. More than all replicas hold: dead ones swallow clicks.", known)
		metric("askbus_slack_connections_opened_total", "counter", "Socket Mode connections opened.", opened)
		fmt.Fprint(w, "# HELP askbus_slack_connections_ended_total Socket Mode connections ended, by reason.\n# TYPE askbus_slack_connections_ended_total counter\n")
		for _, reason := range slices.Sorted(maps.Keys(ended)) {
			fmt.Fprintf(w, "askbus_slack_connections_ended_total{tenant=%q,reason=%q} %d\n", tenant, reason, ended[reason])
		}
	}
	metric("askbus_slack_calls_waiting", "gauge", "Calls of the Web API that wait for their turn.", s.api.limiter.Waiting())
	if h, ok := s.Health(); ok {
		metric("askbus_slack_items_under_way", "gauge", "Asks and outcomes being posted or edited.", h.UnderWay)
		metric("askbus_slack_calls_failing", "gauge", "Posts and edits that failed in a row.", h.Failing)
	}
}
