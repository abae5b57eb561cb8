package deploytest_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// installed is a cluster that holds the StatefulSets and claims of releases. It answers lookup.
type installed struct{ objects []runtime.Object }

// GetClientFor implements [engine.ClientProvider].
func (c installed) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, false, err
	}
	lists := map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "persistentvolumeclaims"}:      "PersistentVolumeClaimList",
		{Group: "apps", Version: "v1", Resource: "statefulsets"}: "StatefulSetList",
	}
	resource := gv.WithResource(strings.ToLower(kind) + "s")
	if lists[resource] == "" {
		return nil, false, fmt.Errorf("the chart looks up %s %s", apiVersion, kind)
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, c.objects...).Resource(resource), true, nil
}

// install returns the cluster after an installation with these values: its StatefulSets, with
// the claims that Kubernetes makes for them.
func install(t *testing.T, release, values string) installed {
	t.Helper()
	m, err := render(t.Context(), release, values)
	if err != nil {
		t.Fatal(err)
	}
	var c installed
	for _, set := range all[*appsv1.StatefulSet](&m) {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: object}
		u.SetNamespace("default")
		c.objects = append(c.objects, u)
		for i := range *set.Spec.Replicas {
			for _, template := range set.Spec.VolumeClaimTemplates {
				claim := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim"}}
				claim.SetNamespace("default")
				claim.SetName(fmt.Sprintf("%s-%s-%d", template.Name, set.Name, i))
				claim.SetLabels(template.Labels)
				c.objects = append(c.objects, claim)
			}
		}
	}
	return c
}

// uninstalled returns the cluster without its StatefulSets: claims stay.
func (c installed) uninstalled() installed {
	var left installed
	for _, o := range c.objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "PersistentVolumeClaim" {
			left.objects = append(left.objects, o)
		}
	}
	return left
}

// An upgrade whose servers would start on other volumes than those that hold the ledger is
// refused, with the claims and with what to do.
func TestAnUpgradeThatWouldLeaveTheLedgerBehindIsRefused(t *testing.T) {
	t.Parallel()
	const another = "{shape: cluster, nats: {url: 'nats://x:4222'}}"
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing changes":              {"", "", ""},
		"a setting changes":            {"", "{retention: 1h, web: {hosts: [a]}}", ""},
		"a cluster with more brokers":  {"shape: cluster", "{shape: cluster, broker: {replicas: 5}}", ""},
		"more servers":                 {"shape: cluster", "{shape: cluster, nats: {replicas: 5}}", ""},
		"one pod to a cluster":         {"", "shape: cluster", "data-bus-askbus-0 of release bus"},
		"a cluster to one pod":         {"shape: cluster", "", "data-bus-askbus-nats-0, data-bus-askbus-nats-1, data-bus-askbus-nats-2 of release bus"},
		"fewer servers":                {"shape: cluster", "{shape: cluster, nats: {replicas: 1}}", "data-bus-askbus-nats-1, data-bus-askbus-nats-2 of release bus"},
		"another full name":            {"", "fullnameOverride: other", "data-bus-askbus-0 of release bus"},
		"another name":                 {"", "nameOverride: other", "data-bus-askbus-0 of release bus"},
		"the chart's name again":       {"nameOverride: other", "", "data-bus-other-0 of release bus"},
		"another NATS":                 {"shape: cluster", another, "servers of these values (servers elsewhere)"},
		"another NATS from the start":  {another, another, ""},
		"left behind on purpose":       {"", "{shape: cluster, persistence: {leave: [data-bus-askbus-0]}}", ""},
		"one of three left behind":     {"shape: cluster", "persistence: {leave: [data-bus-askbus-nats-0]}", "the volumes data-bus-askbus-nats-1, data-bus-askbus-nats-2 of"},
		"another size":                 {"", "persistence: {size: 20Gi}", "for claim in data-bus-askbus-0; do kubectl --namespace default patch pvc $claim --patch '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"20Gi\"}}}}'; done\n  kubectl --namespace default delete statefulset bus-askbus --cascade=orphan"},
		"another size of three":        {"shape: cluster", "{shape: cluster, persistence: {size: 20Gi}}", "for claim in data-bus-askbus-nats-0 data-bus-askbus-nats-1 data-bus-askbus-nats-2; do"},
		"the same size in other words": {"persistence: {size: 1Ti}", "persistence: {size: 1024Gi}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := install(t, "bus", c.before)
			check := func(what string, there installed, want string) {
				_, err := renderOn(t.Context(), there, "bus", c.after)
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %v\nwant %s", what, err, want)
				}
				if _, err := renderOn(t.Context(), there, "another", c.after); err != nil {
					t.Errorf("another release in the namespace is refused: %v", err)
				}
			}
			check("an upgrade", before, c.want)
			if strings.HasPrefix(name, "another size") {
				check("an upgrade after the StatefulSet was deleted", before.uninstalled(), "")
			} else if !strings.Contains(name, "name") { // which only the StatefulSet of another nameOverride shows
				check("an installation on the claims that stayed", before.uninstalled(), c.want)
			}
		})
	}
}

// Where the release's claims cannot be known from values, the message has the exact value that allows it.
func TestTheRefusalNamesTheValueThatAllowsIt(t *testing.T) {
	t.Parallel()
	there := install(t, "bus", "shape: cluster")
	_, err := renderOn(t.Context(), there, "bus", "")
	if err == nil {
		t.Fatal("accepted")
	}
	_, rest, _ := strings.Cut(err.Error(), "set persistence.leave={")
	list, _, ok := strings.Cut(rest, "}")
	if !ok {
		t.Fatal(err)
	}
	values, _ := yaml.Marshal(map[string]any{"persistence": map[string]any{"leave": strings.Split(list, ",")}})
	if _, err := renderOn(t.Context(), there, "bus", string(values)); err != nil {
		t.Errorf("with what the refusal says: %v", err)
	}
}
