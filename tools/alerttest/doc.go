// Package alerttest checks deploy/prometheus and deploy/grafana with
// Prometheus's own parser, against the metrics of a running askbus. It is a
// module of its own, so that nobody else needs Prometheus.
package alerttest
