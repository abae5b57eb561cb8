package metrics

import "github.com/askbus/askbus/internal/process/metrics/exposition"

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

// Server adds the metrics of an embedded NATS server; read is called for each scrape.
func (s *Set) Server(read func() Server) {
	s.reg.Collect(func(to *exposition.Scrape) {
		f := read()
		report(to,
			figure{"askbus_server_healthy", "1 while this server stores, and its disk has room.", bool1(f.Healthy)},
			figure{"askbus_server_connections", "Connections of clients to this server.", float64(f.Connections)},
			figure{"askbus_server_max_connections", "Connections that it takes.", float64(f.MaxConnections)},
			figure{"askbus_server_subscriptions", "Subscriptions that it knows.", float64(f.Subscriptions)},
			figure{"askbus_server_routes", "Connections to other servers of the cluster.", float64(f.Routes)},
			figure{"askbus_server_store_bytes", "Bytes that JetStream uses on this server.", float64(f.Bytes)},
			figure{"askbus_server_store_budget_bytes", "Bytes that it may use: max-store.", float64(f.Budget)},
			figure{"askbus_server_disk_free_bytes", "Bytes that are free on the disk of its store.", float64(f.DiskFree)},
			figure{"askbus_server_messages", "Messages in its streams.", float64(f.Messages)},
			figure{"askbus_server_streams", "Streams on this server.", float64(f.Streams)},
			figure{"askbus_server_consumers", "Durable and other consumers on this server.", float64(f.Consumers)},
			figure{"askbus_server_raft_leaderless", "Raft groups of this server that know no leader.", float64(f.Leaderless)},
			figure{"askbus_server_raft_copies_behind", "Copies, of streams that this server leads, that are not current.", float64(f.Behind)},
			figure{"askbus_server_connections_total", "Connections that this server has accepted.", float64(f.Opened)},
			figure{"askbus_server_connections_refused_total", "Connections that it refused because it had as many as it takes; of those within a second, at most 64 are counted.", float64(f.Refused)},
			figure{"askbus_server_slow_consumers_total", "Connections that it cut off because they read too slowly.", float64(f.SlowConsumers)},
			figure{"askbus_server_api_errors_total", "Requests to JetStream that failed.", float64(f.APIErrors)},
		)
	})
}
