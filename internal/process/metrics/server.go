package metrics

import "github.com/prometheus/client_golang/prometheus"

// Server holds the figures of an embedded NATS server for one scrape.
type Server struct {
	Healthy        bool
	Connections    int
	MaxConnections int
	Opened         int64 // connections since the start
	Refused        int64 // connections that it did not take because it had MaxConnections, since the start
	Subscriptions  int64
	SlowConsumers  int64 // connections cut off for reading too slowly, since the start
	Routes         int   // to other servers
	Bytes, Budget  int64 // of JetStream's store
	DiskFree       int64 // bytes
	Messages       int64
	Streams        int
	Consumers      int
	APIErrors      int64
	Leaderless     int // Raft groups without a leader
	Behind         int // copies of streams led here that are not current
}

// Server adds the metrics of an embedded NATS server; read is called for each figure of a scrape.
func (s *Set) Server(read func() Server) {
	for name, of := range map[string]struct {
		help string
		read func(*Server) float64
	}{
		"askbus_server_healthy":            {"1 while this server stores, and its disk has room.", func(f *Server) float64 { return bool1(f.Healthy) }},
		"askbus_server_connections":        {"Connections of clients to this server.", func(f *Server) float64 { return float64(f.Connections) }},
		"askbus_server_max_connections":    {"Connections that it takes.", func(f *Server) float64 { return float64(f.MaxConnections) }},
		"askbus_server_subscriptions":      {"Subscriptions that it knows.", func(f *Server) float64 { return float64(f.Subscriptions) }},
		"askbus_server_routes":             {"Connections to other servers of the cluster.", func(f *Server) float64 { return float64(f.Routes) }},
		"askbus_server_store_bytes":        {"Bytes that JetStream uses on this server.", func(f *Server) float64 { return float64(f.Bytes) }},
		"askbus_server_store_budget_bytes": {"Bytes that it may use: max-store.", func(f *Server) float64 { return float64(f.Budget) }},
		"askbus_server_disk_free_bytes":    {"Bytes that are free on the disk of its store.", func(f *Server) float64 { return float64(f.DiskFree) }},
		"askbus_server_messages":           {"Messages in its streams.", func(f *Server) float64 { return float64(f.Messages) }},
		"askbus_server_streams":            {"Streams on this server.", func(f *Server) float64 { return float64(f.Streams) }},
		"askbus_server_consumers":          {"Durable and other consumers on this server.", func(f *Server) float64 { return float64(f.Consumers) }},
		"askbus_server_raft_leaderless":    {"Raft groups of this server that know no leader.", func(f *Server) float64 { return float64(f.Leaderless) }},
		"askbus_server_raft_copies_behind": {"Copies, of streams that this server leads, that are not current.", func(f *Server) float64 { return float64(f.Behind) }},
	} {
		s.gauge(name, of.help, nil, func() float64 { f := read(); return of.read(&f) })
	}
	for name, of := range map[string]struct {
		help string
		read func(*Server) int64
	}{
		"askbus_server_connections_total":         {"Connections that this server has accepted.", func(f *Server) int64 { return f.Opened }},
		"askbus_server_connections_refused_total": {"Connections that it refused because it had as many as it takes; of those within a second, at most 64 are counted.", func(f *Server) int64 { return f.Refused }},
		"askbus_server_slow_consumers_total":      {"Connections that it cut off because they read too slowly.", func(f *Server) int64 { return f.SlowConsumers }},
		"askbus_server_api_errors_total":          {"Requests to JetStream that failed.", func(f *Server) int64 { return f.APIErrors }},
	} {
		s.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: of.help}, func() float64 { f := read(); return float64(of.read(&f)) }))
	}
}
