package deploytest_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const (
	// hub is a bus that takes leaf nodes of other regions.
	hub = `
shape: cluster
tls: { nats: { existingSecret: nats-tls, clientSecret: nats-client } }
leafNodes: { listen: { enabled: true, port: 7443, urls: ["tls://leaf.east.example.com:7443", "tls://leaf2.east.example.com:7443"] } }
service: { leaf: { type: LoadBalancer, loadBalancerSourceRanges: [192.0.2.0/24] } }
networkPolicy: { enabled: true, leafFrom: [{ ipBlock: { cidr: 192.0.2.0/24 } }] }
`
	// far is a bus in whose cluster two others have leaf nodes.
	far = `
leafNodes:
  image: { repository: registry.example/nats, tag: "2.15.2" }
  remotes:
    - { name: east, existingSecret: leaf-of-east, replicas: 2, tlsSecret: leaf-tls, resources: { limits: { memory: 64Mi } } }
    - { name: north, existingSecret: leaf-of-north, egress: [{ to: [{ ipBlock: { cidr: 198.51.100.0/24 } }] }] }
networkPolicy: { enabled: true }
podDisruptionBudget: { enabled: true }
`
)

// A bus that takes leaf nodes listens over the TLS of NATS, at a Service of its own, and hands out all that they need.
func TestABusTakesLeafNodes(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", hub)
	if err != nil {
		t.Fatal(err)
	}
	c := named[*appsv1.StatefulSet](&m, "askbus-nats").Spec.Template.Spec.Containers[0]
	if value(c.Env, "ASKBUS_LEAF_ADDR") != "0.0.0.0:7422" || !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "leaf" && p.ContainerPort == 7422 }) {
		t.Errorf("the servers do not listen: %v %v", c.Env, c.Ports)
	}
	s := named[*corev1.Service](&m, "askbus-leaf")
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 7443 || s.Spec.Ports[0].TargetPort.StrVal != "leaf" || len(s.Spec.LoadBalancerSourceRanges) != 1 {
		t.Errorf("the Service is %+v", s.Spec)
	}
	if nats := named[*corev1.Service](&m, "askbus-nats"); nats.Spec.Type != corev1.ServiceTypeClusterIP || len(nats.Spec.Ports) != 1 {
		t.Errorf("NATS is published as well: %+v", nats.Spec)
	}
	pod := all[*batchv1.Job](&m)[0].Spec.Template.Spec
	args := pod.Containers[0].Args
	if !slices.Contains(args, "--leaf-of=tls://leaf.east.example.com:7443,tls://leaf2.east.example.com:7443") || !slices.Contains(args, "--leaf-tls=/leaf-tls") {
		t.Errorf("the credentials are made with %q", args)
	}
	at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "leaf-tls" })
	if at < 0 {
		t.Fatal("no certificates for leaf nodes")
	}
	given := map[string]string{}
	for _, source := range pod.Volumes[at].Projected.Sources {
		for _, item := range source.Secret.Items {
			given[item.Key] = source.Secret.Name
		}
	}
	if len(given) != 3 || given["ca.crt"] != "nats-tls" || given["tls.crt"] != "nats-client" || given["tls.key"] != "nats-client" {
		t.Errorf("leaf nodes are given %v", given)
	}
	role := named[*rbacv1.Role](&m, "askbus-credentials")
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, "askbus-leaf") }) {
		t.Error("the Job may not write askbus-leaf")
	}
	policy := named[*networkingv1.NetworkPolicy](&m, "askbus-server")
	if !slices.ContainsFunc(policy.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
		return len(r.Ports) == 1 && r.Ports[0].Port.StrVal == "leaf" && len(r.From) == 1 && r.From[0].IPBlock != nil
	}) {
		t.Errorf("the policy lets no leaf node in: %+v", policy.Spec.Ingress)
	}

	// In plain text within the cluster only, and under the Service's name by default.
	if m, err = render(t.Context(), "askbus", "{leafNodes: {listen: {enabled: true}}}"); err != nil {
		t.Fatal(err)
	}
	if args := all[*batchv1.Job](&m)[0].Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--leaf-of=nats://askbus-leaf.default.svc:7422") || strings.Contains(strings.Join(args, " "), "--leaf-tls") {
		t.Errorf("the credentials are made with %q", args)
	}
	if m, err = render(t.Context(), "askbus", ""); err != nil {
		t.Fatal(err)
	}
	if named[*corev1.Service](&m, "askbus-leaf") != nil || value(all[*appsv1.StatefulSet](&m)[0].Spec.Template.Spec.Containers[0].Env, "ASKBUS_LEAF_ADDR") != "" {
		t.Error("leaf nodes are taken without being asked for")
	}
}

// A leaf node has the other bus's files and nothing of this one's.
func TestALeafNodeOfAnotherBusRunsHere(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", far)
	if err != nil {
		t.Fatal(err)
	}
	d := named[*appsv1.Deployment](&m, "askbus-leaf-east")
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	if *d.Spec.Replicas != 2 || c.Image != "registry.example/nats:2.15.2" || c.WorkingDir != "/leaf" || c.Args[0] != "--config=/leaf/leaf.conf" || !slices.Contains(c.Args, "--tlskey=/tls/tls.key") {
		t.Errorf("east is %d of %s in %q with %q", *d.Spec.Replicas, c.Image, c.WorkingDir, c.Args)
	}
	if secretAt(pod, c, "/leaf") != "leaf-of-east" || secretAt(pod, c, "/tls") != "leaf-tls" || value(c.Env, "ASKBUS_CREDS") != "" || c.Resources.Limits.Memory().String() != "64Mi" {
		t.Errorf("east has %v, %v", pod.Volumes, c.Env)
	}
	if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Port.StrVal != "monitor" || c.Lifecycle == nil {
		t.Error("nobody sees whether it runs, or it stops under its clients")
	}
	if s := named[*corev1.Service](&m, "askbus-leaf-east"); s.Spec.Ports[0].Port != 4280 || s.Spec.Type != "" {
		t.Errorf("its Service is %+v", s.Spec)
	}
	if c := named[*appsv1.Deployment](&m, "askbus-leaf-north").Spec.Template.Spec.Containers[0]; slices.Contains(c.Args, "--tls") {
		t.Errorf("north is started with %q", c.Args)
	}
	for name, port := range map[string]string{"askbus-leaf-east": "7422", "askbus-leaf-north": ""} {
		out := named[*networkingv1.NetworkPolicy](&m, name).Spec.Egress
		last := out[len(out)-1]
		if (port != "") != (len(last.Ports) == 1 && last.Ports[0].Port.String() == port) || len(out) != 2 {
			t.Errorf("%s may connect to %+v", name, out)
		}
	}
}
