package deploytest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Besides the servers, only the issuer mounts the keys. Its rules are a file that changes without a
// restart.
func TestTheIssuerHasTheKeysAndItsRules(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", cluster)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, d := range all[*appsv1.Deployment](&m) {
		pod := d.Spec.Template.Spec
		keys := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && strings.HasSuffix(v.Secret.SecretName, "-keys") })
		if issuer := d.Name == "askbus-issuer"; keys != issuer {
			t.Errorf("%s: keys %v", d.Name, keys)
		} else if !issuer {
			continue
		}
		found = true
		args := strings.Join(pod.Containers[0].Args, " ")
		for _, want := range []string{"issuer", "--key-of=/keys", "--rules=/rules/issuer.yaml"} {
			if !strings.Contains(args, want) {
				t.Errorf("no %s in %s", want, args)
			}
		}
		if !slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(v corev1.VolumeMount) bool { return v.MountPath == "/rules" && v.ReadOnly }) {
			t.Error("the rules are not mounted")
		}
	}
	if !found {
		t.Fatal("no issuer")
	}
	config := named[*corev1.ConfigMap](&m, "askbus-issuer").Data
	if !strings.Contains(config["issuer.yaml"], "{kubernetes.io/serviceaccount/name}") || !strings.Contains(config["jwks.json"], `"keys"`) {
		t.Errorf("%q", config)
	}
	policy := named[*networkingv1.NetworkPolicy](&m, "askbus-issuer").Spec
	if !slices.ContainsFunc(policy.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
		return len(r.Ports) == 1 && r.Ports[0].Port.IntValue() == 443
	}) {
		t.Errorf("it cannot fetch the keys of OpenID issuers: %+v", policy.Egress)
	}
	role := named[*rbacv1.Role](&m, "askbus-credentials")
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, "askbus-issuer") }) {
		t.Error("the Job may not write its Secret")
	}
}

// An exchanged credential names an address that other pods can reach. In the shape embedded the
// issuer's own connection is to 127.0.0.1.
func TestExchangedCredentialsNameTheServiceOfNATS(t *testing.T) {
	t.Parallel()
	const issuer = "issuer: { enabled: true, rules: { issuers: [], rules: []%s } }\n"
	for _, c := range []struct{ values, more, want string }{
		{"shape: embedded\n", "", "nats://askbus.default.svc:4280"},
		{"tls: { http: { existingSecret: x } }\n", "", "tls://askbus.default.svc:4280"},
		{"shape: cluster\n", "", "nats://askbus-nats.default.svc:4280"},
		{external, "", "tls://nats.infra:4222"},
		{"shape: cluster\n", ", nats_url: \"wss://nats.example.com\"", "wss://nats.example.com"},
	} {
		m, err := render(t.Context(), "askbus", c.values+fmt.Sprintf(issuer, c.more))
		if err != nil {
			t.Fatal(err)
		}
		var rules struct {
			NATSURL string `json:"nats_url"`
		}
		if err := yaml.Unmarshal([]byte(named[*corev1.ConfigMap](&m, "askbus-issuer").Data["issuer.yaml"]), &rules); err != nil || rules.NATSURL != c.want {
			t.Errorf("%s%s: holders connect to %q, want %q (%v)", c.values, c.more, rules.NATSURL, c.want, err)
		}
	}
}

// Token reviews bring a role of the whole cluster, for the issuer's pods alone; nothing
// else does, and rules that want reviews are not rendered without it.
func TestTokenReviewsBringTheirRole(t *testing.T) {
	t.Parallel()
	const rules = "issuer: { enabled: true, tokenReview: %s, rules: { issuers: [{ name: c, issuer: c, audience: askbus, token_review: %s }], rules: [] } }\nnetworkPolicy: { enabled: true }\n"
	for shape, pods := range map[string]string{"embedded": "askbus", "cluster": "askbus-issuer"} {
		with, err := render(t.Context(), "askbus", "shape: "+shape+"\n"+fmt.Sprintf(rules, "true", "true"))
		if err != nil {
			t.Fatal(err)
		}
		role := named[*rbacv1.ClusterRole](&with, "default-askbus-issuer")
		if role == nil || len(role.Rules) != 1 || !slices.Equal(role.Rules[0].APIGroups, []string{"authentication.k8s.io"}) || !slices.Equal(role.Rules[0].Resources, []string{"tokenreviews"}) || !slices.Equal(role.Rules[0].Verbs, []string{"create"}) {
			t.Fatalf("%s: the role is %+v", shape, role)
		}
		bound := named[*rbacv1.ClusterRoleBinding](&with, "default-askbus-issuer")
		if bound == nil || bound.RoleRef.Name != role.Name || len(bound.Subjects) != 1 || bound.Subjects[0].Name != "askbus-issuer" || bound.Subjects[0].Namespace != "default" {
			t.Errorf("%s: bound to %+v", shape, bound)
		}
		mounting := 0
		each := func(name string, pod corev1.PodSpec) {
			if *pod.AutomountServiceAccountToken {
				mounting++
			}
			if ours := name == pods; *pod.AutomountServiceAccountToken != ours || (pod.ServiceAccountName == "askbus-issuer") != ours {
				t.Errorf("%s: %s runs as %s and mounts its token: %v", shape, name, pod.ServiceAccountName, *pod.AutomountServiceAccountToken)
			}
		}
		for _, d := range all[*appsv1.Deployment](&with) {
			each(d.Name, d.Spec.Template.Spec)
		}
		for _, s := range all[*appsv1.StatefulSet](&with) {
			each(s.Name, s.Spec.Template.Spec)
		}
		if mounting != 1 {
			t.Errorf("%s: %d workloads mount a token", shape, mounting)
		}
		if !slices.ContainsFunc(named[*networkingv1.NetworkPolicy](&with, map[string]string{"embedded": "askbus-server", "cluster": "askbus-issuer"}[shape]).Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return slices.ContainsFunc(r.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntValue() == 6443 })
		}) {
			t.Errorf("%s: it cannot reach the API server", shape)
		}
		without, err := render(t.Context(), "askbus", "shape: "+shape+"\n"+fmt.Sprintf(rules, "false", "false"))
		if err != nil || len(all[*rbacv1.ClusterRole](&without))+len(all[*rbacv1.ClusterRoleBinding](&without)) > 0 {
			t.Errorf("%s: a role of the cluster without reviews, %v", shape, err)
		}
		if _, err := render(t.Context(), "askbus", "shape: "+shape+"\n"+fmt.Sprintf(rules, "false", "true")); err == nil || !strings.Contains(err.Error(), "set issuer.tokenReview") {
			t.Errorf("%s: rules that want reviews: %v", shape, err)
		}
	}
}

// The push surface decrypts the subscriptions with the inbox's cookie key.
func TestPushHasTheKeyOfTheCookies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ more, variable string }{
		"its own Secret": {"", "ASKBUS_WEB_COOKIE_KEY_FILE"},
		"an existing":    {"web: { cookieKey: { existingSecret: c } }\n", "ASKBUS_WEB_COOKIE_KEY"},
	} {
		m, err := render(t.Context(), "askbus", "shape: cluster\nresponders: [{ name: push, command: [push], hears: nothing, replicas: 2 }]\n"+c.more)
		if err != nil {
			t.Fatal(err)
		}
		env := named[*appsv1.Deployment](&m, "askbus-push").Spec.Template.Spec.Containers[0].Env
		if !slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == c.variable }) {
			t.Errorf("%s: %+v", name, env)
		}
	}
}

// TestTheApprovalsFileIsTheBrokers checks that the brokers, and only they, get the
// policies of approvals, in both shapes.
func TestTheApprovalsFileIsTheBrokers(t *testing.T) {
	t.Parallel()
	const file = "approvals: { policies: [{ name: two, otherwise: { approval: { any_of: [{ need: 2 }] } } }] }\n"
	for shape, pod := range map[string]string{"embedded": "askbus", "cluster": "askbus-broker"} {
		m, err := render(t.Context(), "askbus", "shape: "+shape+"\n"+file)
		if err != nil {
			t.Fatal(err)
		}
		if data := named[*corev1.ConfigMap](&m, "askbus-approvals").Data["approvals.yaml"]; !strings.Contains(data, "name: two") {
			t.Errorf("%s: %q", shape, data)
		}
		for _, w := range m.workloads() {
			name, c := w.name, w.spec.Containers[0]
			has := slices.Contains(c.Args, "--approvals=/approvals/approvals.yaml")
			mounted := slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return v.MountPath == "/approvals" && v.ReadOnly })
			if want := name == pod; has != want || mounted != want {
				t.Errorf("%s: %s is started with the file: %v, and has it: %v", shape, name, has, mounted)
			}
		}
	}
}

// The brokers of Docker Compose read the approvals file of the repository, which is valid as it is.
func TestTheApprovalsFileOfComposeIsTheBrokers(t *testing.T) {
	t.Parallel()
	broker := compose(t, nil).Services["broker"]
	if file := broker.Environment["ASKBUS_APPROVALS"]; file == nil || *file != "/approvals/approvals.yaml" {
		t.Errorf("the broker's file is %v", file)
	}
	if !slices.ContainsFunc(broker.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == "/approvals" && v.ReadOnly }) {
		t.Errorf("the volumes are %v", broker.Volumes)
	}
	if out, err := askbus(t, "approvals", "check", "../../deploy/approvals/approvals.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
