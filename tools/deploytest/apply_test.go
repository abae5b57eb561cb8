package deploytest_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
)

// Kubernetes refuses to change a Job's spec, and `helm template` has no revisions: Argo CD, Flux and kubectl apply
// can go from one version to another only if a changed spec is a Job of another name.
func TestTheJobIsNamedByItsSpec(t *testing.T) {
	t.Parallel()
	names := map[string]batchv1.JobSpec{}
	for _, values := range []string{
		"", "image: {tag: v2}", "shape: cluster", "{shape: cluster, nats: {replicas: 5}}", "{shape: cluster, issuer: {enabled: true}}",
		"responders: [{name: slack, command: [slack]}]", "podAnnotations: {a: b}", "resources: {limits: {memory: 2Gi}}", "retention: 1h",
	} {
		m, err := render(t.Context(), "askbus", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range all[*batchv1.Job](&m) {
			if before, ok := names[job.Name]; ok && !reflect.DeepEqual(before, job.Spec) {
				t.Errorf("%s: Job %s is that of other values with another spec", values, job.Name)
			}
			names[job.Name] = job.Spec
			if !strings.HasPrefix(job.Name, "askbus-credentials-") {
				t.Errorf("Job %s", job.Name)
			}
		}
	}
	if len(names) != 7 { // retention and the number of servers are not the Job's
		t.Errorf("%d Jobs for 7 specs", len(names))
	}
}

// Two Slack workspaces are two Deployments of one type, each of its tenant: credentials, consumers and scalers are those
// of the type and tenant, and only objects are named by the name.
func TestTypeAndTenantStandApartFromTheName(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", `
shape: cluster
responders:
  - { name: workspace-a, command: [slack], tenant: acme, scaling: { min: 1, max: 2 } }
  - { name: workspace-b, command: [slack], tenant: other, scaling: { min: 1, max: 2 } }
  - { name: one, type: Chat_2, command: [x], image: { repository: r, tag: "1" }, scaling: { min: 1, max: 2, natsJetStream: { endpoint: "nats:8222", accountID: ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA } } }
`)
	if err != nil {
		t.Fatal(err)
	}
	job := all[*batchv1.Job](&m)[0].Spec.Template.Spec.Containers[0]
	if want := "--responder-types=workspace-a=slack@acme,workspace-b=slack@other,one=Chat_2"; !slices.Contains(job.Args, want) {
		t.Errorf("the Job runs with %q, want %s", job.Args, want)
	}
	broker := named[*appsv1.Deployment](&m, "askbus-broker").Spec.Template.Spec.Containers[0]
	if got, want := value(broker.Env, "ASKBUS_RESPONDER_TYPES"), "slack@acme,slack@other,Chat_2"; got != want {
		t.Errorf("the broker prepares %q, want %q", got, want)
	}
	for name, want := range map[string]struct{ backlog, tenant string }{"askbus-workspace-a": {"slack@acme", "acme"}, "askbus-workspace-b": {"slack@other", "other"}} {
		if got := named[*scaledObject](&m, name).Spec.Triggers[0].Metadata["url"]; !strings.HasSuffix(got, "/backlog/"+want.backlog) {
			t.Errorf("%s scales by %s", name, got)
		}
		pod := named[*appsv1.Deployment](&m, name).Spec.Template.Spec
		if got := value(pod.Containers[0].Env, "ASKBUS_TENANT"); got != want.tenant || secretAt(pod, pod.Containers[0], "/creds") != name {
			t.Errorf("%s serves %q with the credential of %s", name, got, secretAt(pod, pod.Containers[0], "/creds"))
		}
	}
	if got := named[*scaledObject](&m, "askbus-one").Spec.Triggers[0].Metadata["consumer"]; got != "Chat_2-q" {
		t.Errorf("one scales by the consumer %s", got)
	}
}
