package slack

import "github.com/askbus/askbus/internal/process/metrics/exposition"

// Metrics adds the surface's metrics to a scrape. The tenant tells workspaces
// apart: one that hears nothing must not hide behind another.
func (s *App) Metrics(to *exposition.Scrape) {
	tenant := ""
	if s.Bus != nil {
		tenant = s.Bus.Tenant()
	}
	metric := func(name, help string, value int, reason ...string) {
		labels := []string{"tenant", "reason"}[:1+len(reason)]
		to.Number(&exposition.Desc{Name: name, Help: help, Labels: labels}, float64(value), append([]string{tenant}, reason...)...)
	}
	if s.opts.AppToken != "" {
		st := &s.sockets
		st.mu.Lock()
		defer st.mu.Unlock()
		metric("askbus_slack_connections_live", "Socket Mode connections of this process that answer pings.", st.live)
		metric("askbus_slack_num_connections", "Socket Mode connections of the app, as Slack said in its last hello. More than all replicas hold: dead ones swallow clicks.", st.known)
		metric("askbus_slack_connections_opened_total", "Socket Mode connections opened.", st.opened)
		for reason, n := range st.ended {
			metric("askbus_slack_connections_ended_total", "Socket Mode connections ended, by reason.", n, reason)
		}
	}
	metric("askbus_slack_calls_waiting", "Calls of the Web API that wait for their turn.", s.api.limiter.Waiting())
	if h, ok := s.Health(); ok {
		metric("askbus_slack_items_under_way", "Asks and outcomes being posted or edited.", h.UnderWay)
		metric("askbus_slack_calls_failing", "Posts and edits that failed in a row.", h.Failing)
	}
}
