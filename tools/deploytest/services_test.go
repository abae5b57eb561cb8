package deploytest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// What one Service publishes, the others do not: `LoadBalancer` for the gateway left NATS and the inbox open as well.
func TestEachServiceHasItsOwnType(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", `
shape: cluster
tls: { http: { existingSecret: http-tls } }
service:
  annotations: { all: "1" }
  gateway: { type: LoadBalancer, annotations: { own: "2" }, loadBalancerClass: example.com/public, loadBalancerSourceRanges: [192.0.2.0/24], externalTrafficPolicy: Local, ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv6] }
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]corev1.ServiceType{"askbus-nats": corev1.ServiceTypeClusterIP, "askbus-web": corev1.ServiceTypeClusterIP, "askbus-gateway": corev1.ServiceTypeLoadBalancer} {
		if s := named[*corev1.Service](&m, name); s.Spec.Type != want || s.Annotations["all"] != "1" {
			t.Errorf("%s is a %s with the annotations %v, want a %s", name, s.Spec.Type, s.Annotations, want)
		}
	}
	s := named[*corev1.Service](&m, "askbus-gateway")
	if s.Annotations["own"] != "2" || s.Spec.LoadBalancerClass == nil || *s.Spec.LoadBalancerClass != "example.com/public" || len(s.Spec.LoadBalancerSourceRanges) != 1 ||
		s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || s.Spec.IPFamilyPolicy == nil || len(s.Spec.IPFamilies) != 2 {
		t.Errorf("the gateway's Service is %+v with %v", s.Spec, s.Annotations)
	}
	// TLS, or the operator's word that something else protects it.
	for _, values := range []string{
		"{shape: cluster, service: {type: LoadBalancer}, tls: {nats: {existingSecret: a}, http: {existingSecret: b}}}",
		"{shape: cluster, service: {web: {type: NodePort, insecure: true}}}",
		"{service: {type: NodePort}, tls: {http: {existingSecret: b}}}",
	} {
		if _, err := render(t.Context(), "askbus", values); err != nil {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// People are sent to the inbox, and programs to the gateway.
func TestInboxAndGatewayAtTwoHosts(t *testing.T) {
	t.Parallel()
	for shape, name := range map[string]string{"": "askbus", "shape: cluster\n": "askbus-gateway"} {
		m, err := render(t.Context(), "askbus", shape+`
web: { url: "https://inbox.example.com" }
gateway: { url: "https://agents.example.com" }
`)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, w := range m.workloads() {
			for _, c := range w.spec.Containers {
				for _, e := range c.Env {
					if w.name == name {
						found[e.Name] = e.Value
					}
				}
			}
		}
		if found["ASKBUS_HTTP_URL"] != "https://inbox.example.com" || found["ASKBUS_GATEWAY_URL"] != "https://agents.example.com" {
			t.Errorf("%s: %v", name, found)
		}
	}
}
