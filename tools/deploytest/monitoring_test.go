package deploytest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The chart cannot read files outside itself, so it has copies, which "make generate" makes.
func TestTheChartHasTheAlertsAndTheDashboard(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", cluster)
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want, got prometheusRule
	if err := yaml.Unmarshal(alerts, &want.Spec); err != nil {
		t.Fatal(err)
	}
	rule := named[*prometheusRule](&m, "askbus")
	got.Spec = rule.Spec
	a, _ := json.Marshal(got.Spec)
	if b, _ := json.Marshal(want.Spec); !bytes.Equal(a, b) || len(want.Spec.Groups) == 0 || rule.Labels["release"] != "prometheus" {
		t.Errorf("the PrometheusRule is not that of deploy: run \"make generate\": %s", a)
	}
	dashboard, err := os.ReadFile("../../deploy/grafana/askbus.json")
	if err != nil {
		t.Fatal(err)
	}
	c := named[*corev1.ConfigMap](&m, "askbus-dashboard")
	if c.Data["askbus.json"] != string(bytes.TrimRight(dashboard, "\n")) || c.Labels["grafana_dashboard"] != "1" || c.Annotations["grafana_folder"] != "askbus" {
		t.Errorf("the dashboard is not that of deploy: run \"make generate\"; labels %v", c.Labels)
	}
}
