// Package alerttest checks deploy/prometheus and deploy/grafana with Prometheus's own parser,
// against the metrics of a running askbus, and reads those metrics with its parsers of scrapes. It is
// a separate module, so that no other depends on Prometheus.
package alerttest
