package deploytest_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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
