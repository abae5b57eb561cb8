package deploytest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func kindOf(o any) string { return fmt.Sprintf("%T", o) }

// checkPod checks every pod of the chart: the "restricted" pod security standard and a read-only
// root, no token except for the Job's, and consistent volumes and variables.
func checkPod(t *testing.T, m *manifests, w workload) {
	t.Helper()
	t.Run(w.what+" "+w.name, func(t *testing.T) {
		pod := w.spec
		if token := pod.AutomountServiceAccountToken; token == nil || *token != w.token {
			t.Errorf("mounts a token: %v, want %v", token, w.token)
		}
		if named[*corev1.ServiceAccount](m, pod.ServiceAccountName) == nil {
			t.Errorf("runs as %q, which the chart does not make", pod.ServiceAccountName)
		}
		if links := pod.EnableServiceLinks; links == nil || *links {
			t.Error("Kubernetes adds variables that look like our settings")
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Error("shares a namespace with its node")
		}
		p := pod.SecurityContext
		if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.RunAsUser == nil || *p.RunAsUser != 65532 || p.FSGroup == nil || *p.FSGroup != 65532 {
			t.Error("does not run as user 65532")
		}
		if p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Error("has no seccomp profile")
		}
		for _, c := range pod.Containers {
			checkContainer(t, pod, c)
		}
		if w.what == "Deployment" || w.what == "StatefulSet" {
			checkProbes(t, pod.Containers[0])
		}
	})
}

func checkContainer(t *testing.T, pod corev1.PodSpec, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		t.Error("the root file system can be written")
	}
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || (s.Privileged != nil && *s.Privileged) {
		t.Error("the container may gain privileges")
	}
	if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
		t.Error("the container keeps capabilities")
	}
	if len(c.Command) != 0 {
		t.Error("the image's entry point is replaced")
	}
	for _, m := range c.VolumeMounts {
		if m.Name != "data" && !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			t.Errorf("volume %s is mounted and not there", m.Name)
		}
		if strings.HasPrefix(m.MountPath, "/keys") && !slices.ContainsFunc(c.Args, func(a string) bool { return a == "--key-of=/keys" }) {
			t.Error("a role that needs no keys can read them")
		}
	}
	// An empty variable is not unset: a duration of "" does not parse.
	seen := map[string]bool{}
	for _, e := range c.Env {
		if seen[e.Name] {
			t.Errorf("%s is set twice", e.Name)
		}
		seen[e.Name] = true
		if e.Value == "" && e.ValueFrom == nil {
			t.Errorf("%s is empty", e.Name)
		}
	}
}

func checkProbes(t *testing.T, c corev1.Container) {
	t.Helper()
	if c.Name != "askbus" {
		return // another image, whose ports we do not know
	}
	for name, probe := range map[string]struct {
		*corev1.Probe
		path string
	}{"startup": {c.StartupProbe, "/readyz"}, "liveness": {c.LivenessProbe, "/healthz"}, "readiness": {c.ReadinessProbe, "/readyz"}} {
		if probe.Probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.String() != "ops" || probe.HTTPGet.Path != probe.path {
			t.Errorf("the %s probe does not ask %s of the ops port", name, probe.path)
		}
	}
	if s := c.StartupProbe; s.PeriodSeconds*s.FailureThreshold < 300 {
		t.Error("a start of five minutes counts as broken")
	}
}

// checkSelectors checks that every selector selects the pods of exactly one role, and that ports
// exist.
func checkSelectors(t *testing.T, m *manifests) {
	t.Helper()
	selects := func(what string, selector map[string]string, one bool) (found []workload) {
		if len(selector) == 0 {
			t.Errorf("%s selects every pod", what)
		}
		roles := map[string]bool{}
		for _, w := range m.workloads() {
			ok := true
			for k, v := range selector {
				ok = ok && w.labels[k] == v
			}
			if ok {
				found = append(found, w)
				roles[w.labels["app.kubernetes.io/component"]] = true
			}
		}
		if one && len(roles) != 1 {
			t.Errorf("%s selects the roles %v", what, roles)
		}
		return found
	}
	for _, o := range m.objects {
		what := kindOf(o) + " " + o.GetName()
		switch o := o.(type) {
		case *appsv1.Deployment:
			selects(what, o.Spec.Selector.MatchLabels, true)
		case *appsv1.StatefulSet:
			selects(what, o.Spec.Selector.MatchLabels, true)
			if named[*corev1.Service](m, o.Spec.ServiceName) == nil {
				t.Errorf("%s belongs to service %q, which is not there", what, o.Spec.ServiceName)
			}
		case *policyv1.PodDisruptionBudget:
			selects(what, o.Spec.Selector.MatchLabels, true)
		case *networkingv1.NetworkPolicy:
			selects(what, o.Spec.PodSelector.MatchLabels, true)
		case *corev1.Service:
			ops := strings.HasSuffix(o.Name, "-ops")
			for _, w := range selects(what, o.Spec.Selector, !ops) {
				checkService(t, o, w, ops)
			}
		}
	}
}

func checkService(t *testing.T, s *corev1.Service, w workload, ops bool) {
	t.Helper()
	for _, p := range s.Spec.Ports {
		if (p.TargetPort.String() == "ops") != ops {
			t.Errorf("service %s offers profiles to everybody", s.Name)
		}
		ports := w.spec.Containers[0].Ports
		i := slices.IndexFunc(ports, func(c corev1.ContainerPort) bool { return c.Name == p.TargetPort.String() })
		if i < 0 && !ops {
			t.Errorf("service %s sends port %d to %q, which %s does not have", s.Name, p.Port, p.TargetPort.String(), w.name)
		}
		if i >= 0 && s.Spec.ClusterIP == corev1.ClusterIPNone && ports[i].ContainerPort != p.Port {
			t.Errorf("headless service %s names port %d, and %s listens on %d", s.Name, p.Port, w.name, ports[i].ContainerPort)
		}
	}
}

// checkAccess checks that only the Job's account has rights on the API server, on its own Secrets;
// that every rule of a NetworkPolicy names its peers; and that every role has a policy.
func checkAccess(t *testing.T, m *manifests) {
	t.Helper()
	for _, r := range all[*rbacv1.Role](m) {
		for _, rule := range r.Rules {
			if slices.Equal(rule.Resources, []string{"statefulsets"}) && slices.Equal(rule.Verbs, []string{"get"}) && len(rule.ResourceNames) == 1 {
				continue // the one of the servers
			}
			if !slices.Equal(rule.Resources, []string{"secrets"}) || !slices.Equal(rule.Verbs, []string{"create"}) && len(rule.ResourceNames) == 0 {
				t.Errorf("role %s may %q %q", r.Name, rule.Verbs, rule.Resources)
			}
		}
	}
	policies := all[*networkingv1.NetworkPolicy](m)
	covered := map[string]bool{}
	for _, p := range policies {
		covered[p.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"]] = true
		if len(p.Spec.PolicyTypes) != 2 {
			t.Errorf("policy %s leaves a direction open", p.Name)
		}
		for _, rule := range p.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Errorf("policy %s lets in everybody, or to every port", p.Name)
			}
		}
		for _, rule := range p.Spec.Egress {
			if len(rule.Ports) == 0 && len(rule.To) == 0 {
				t.Errorf("policy %s lets out to everywhere", p.Name)
			}
		}
	}
	for _, w := range m.workloads() {
		if len(policies) > 0 && !covered[w.labels["app.kubernetes.io/component"]] {
			t.Errorf("no policy covers %s", w.name)
		}
	}
}

// What binds an account to something of the cloud must reach the pods of the Job and of the issuer too.
func TestEveryServiceAccountHasTheAnnotations(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", "shape: cluster\nserviceAccount: { annotations: { role: bus } }\nissuer: { enabled: true, tokenReview: true, rules: { issuers: [{ name: c, issuer: c, audience: askbus, token_review: true }], rules: [] } }\n")
	if err != nil {
		t.Fatal(err)
	}
	accounts := all[*corev1.ServiceAccount](&m)
	if len(accounts) != 3 {
		t.Errorf("%d accounts, want those of all pods, of the issuer and of the Job", len(accounts))
	}
	for _, a := range accounts {
		if a.Annotations["role"] != "bus" {
			t.Errorf("%s has the annotations %v", a.Name, a.Annotations)
		}
	}
}

// On OpenShift each namespace has users of its own, and a pod that names one is refused.
func TestPodsNameNoUserWhereTheValuesSayNone(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"", "shape: cluster\n"} {
		m, err := render(t.Context(), "bus", shape+`
podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null, supplementalGroups: [7] }
securityContext: { runAsUser: null, privileged: false }
responders: [{ name: slack, command: [slack], replicas: 1 }]
`)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range m.workloads() {
			p := w.spec.SecurityContext
			if p.RunAsUser != nil || p.RunAsGroup != nil || p.FSGroup != nil || !slices.Equal(p.SupplementalGroups, []int64{7}) || p.RunAsNonRoot == nil || p.SeccompProfile == nil {
				t.Errorf("%s %s: %+v", w.what, w.name, p)
			}
			for i := range w.spec.Containers {
				c := w.spec.Containers[i].SecurityContext
				if c.RunAsUser != nil || c.Privileged == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
					t.Errorf("%s %s: %+v", w.what, w.name, c)
				}
			}
		}
	}
}

// A pod that people and agents reach through a Service goes on serving until that has learned that it stops: gateway and
// inbox themselves, which send their clients elsewhere meanwhile, and responders by a hook.
func TestAPodServesUntilItsServiceKnows(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", secure)
	if err != nil {
		t.Fatal(err)
	}
	for name, lingers := range map[string]bool{"askbus-gateway": true, "askbus-web": true, "askbus-slack-http": false, "askbus-hook": false} {
		spec := named[*appsv1.Deployment](&m, name).Spec.Template.Spec
		c := spec.Containers[0]
		if (value(c.Env, "ASKBUS_HTTP_LINGER") != "") != lingers || (c.Lifecycle != nil && c.Lifecycle.PreStop != nil) == lingers {
			t.Errorf("%s lingers: %v; its hook is %+v", name, c.Env, c.Lifecycle)
		}
		if *spec.TerminationGracePeriodSeconds < 30 {
			t.Errorf("%s has %d s to stop", name, *spec.TerminationGracePeriodSeconds)
		}
	}
}

// Roles that call services of others, such as for schedules or sign-ins, reach them under the policies if the values say
// so; and an API server at another port is reached.
func TestPoliciesLetRolesReachMore(t *testing.T) {
	t.Parallel()
	const more = "egress: [{ to: [{ ipBlock: { cidr: 10.9.0.0/16 } }], ports: [{ port: 8443 }] }]"
	for shape, roles := range map[string][]string{"embedded": {"server"}, "cluster": {"server", "broker", "web", "gateway"}} {
		values := "shape: " + shape + "\nnetworkPolicy: { enabled: true, apiPorts: [16443] }\n"
		for _, role := range roles {
			values += role + ": { " + more + " }\n"
		}
		m, err := render(t.Context(), "askbus", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range roles {
			out := named[*networkingv1.NetworkPolicy](&m, "askbus-"+role).Spec.Egress
			if last := out[len(out)-1]; len(out) < 2 || len(last.To) != 1 || last.To[0].IPBlock.CIDR != "10.9.0.0/16" {
				t.Errorf("%s: the %s reaches %+v", shape, role, out)
			}
		}
		job := named[*networkingv1.NetworkPolicy](&m, "askbus-credentials").Spec.Egress
		if last := job[len(job)-1].Ports; len(last) != 1 || last[0].Port.IntValue() != 16443 {
			t.Errorf("%s: the Job of the credentials reaches %+v", shape, last)
		}
	}
}

// Helm does not delete hooks when a release is uninstalled.
func TestThePodsOfHelmTestAreDeletedWhenItPasses(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", "backup: {enabled: true}")
	if err != nil {
		t.Fatal(err)
	}
	pods := all[*corev1.Pod](&m)
	for _, pod := range pods {
		if got := pod.Annotations["helm.sh/hook-delete-policy"]; got != "before-hook-creation,hook-succeeded" {
			t.Errorf("%s: %q", pod.Name, got)
		}
	}
	if len(pods) != 2 {
		t.Errorf("%d pods", len(pods))
	}
}
