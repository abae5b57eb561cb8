package deploytest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../charts/askbus"

// manifests is what one rendering of the chart holds.
type manifests struct {
	notes    string
	sets     []*appsv1.StatefulSet
	services []*corev1.Service
	accounts []*corev1.ServiceAccount
	budgets  []*policyv1.PodDisruptionBudget
	policies []*networkingv1.NetworkPolicy
}

// render renders the chart as `helm install RELEASE` would, and decodes every
// manifest strictly.
func render(ctx context.Context, release, values string) (manifests, error) {
	var m manifests
	chart, err := loader.Load(chartDir)
	if err != nil {
		return m, err
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return m, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: "default", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, given, options, common.DefaultCapabilities)
	if err != nil {
		return m, err
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(ctx, chart, all)
	if err != nil {
		return m, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			m.notes = files[name]
			continue
		}
		if err := m.add(files[name]); err != nil {
			return m, errors.Join(errors.New(name), err)
		}
	}
	return m, nil
}

// add decodes the documents of one rendered file.
func (m *manifests) add(file string) error {
	documents := kyaml.NewYAMLReader(newReader(file))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return err
		}
		switch meta.APIVersion + " " + meta.Kind {
		case " ":
			if len(bytes.TrimSpace(document)) > 0 && !onlyComments(document) {
				return errors.New("a document without a kind:\n" + string(document))
			}
		case "apps/v1 StatefulSet":
			err = into(&m.sets, document)
		case "v1 Service":
			err = into(&m.services, document)
		case "v1 ServiceAccount":
			err = into(&m.accounts, document)
		case "policy/v1 PodDisruptionBudget":
			err = into(&m.budgets, document)
		case "networking.k8s.io/v1 NetworkPolicy":
			err = into(&m.policies, document)
		default:
			err = errors.New("this test does not know " + meta.APIVersion + " " + meta.Kind)
		}
		if err != nil {
			return errors.Join(err, errors.New(string(document)))
		}
	}
}

func into[T any](list *[]*T, document []byte) error {
	object := new(T)
	// As strict as the API server: unknown fields, fields in the wrong case and fields given twice are errors.
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(data, object)
	if err := errors.Join(append(strict, err)...); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

func onlyComments(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

const everything = `
image: { repository: registry.example/askbus, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always }
imagePullSecrets: [{ name: pull }]
retention: 168h30m
partitions: 8
persistence: { size: 100Gi, storageClass: fast, accessModes: [ReadWriteOncePod], storageLimit: 80GiB, whenDeleted: Delete }
web:
  hosts: [ask.example.com, "ask.example.com:8443"]
  cookieKey: { existingSecret: askbus-cookie, key: k }
extraEnv:
  - { name: ASKBUS_LOG_LEVEL, value: debug }
  - { name: NODE, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
service: { type: LoadBalancer, annotations: { a: b }, ports: { nats: 4222, http: 80 } }
serviceAccount: { name: bus, annotations: { a: b } }
resources: { requests: { cpu: "2", memory: 1Gi }, limits: { memory: 2Gi } }
terminationGracePeriodSeconds: 30
podAnnotations: { a: b }
podLabels: { team: platform }
nodeSelector: { disk: ssd }
tolerations: [{ key: k, operator: Exists }]
affinity: { nodeAffinity: {} }
priorityClassName: high
podDisruptionBudget: { enabled: true }
networkPolicy:
  enabled: true
  from: [{ namespaceSelector: { matchLabels: { agents: "true" } } }]
  opsFrom: [{ podSelector: {} }]
`

var renderings = map[string]struct{ release, values string }{
	"with the defaults":               {"askbus", ""},
	"with every value":                {"bus", everything},
	"of a release with a long name":   {"a-release-with-a-name-as-long-as-helm-allows-them-53c", ""},
	"with another name":               {"x", "fullnameOverride: questions"},
	"as small as it can be":           {"x", "{resources: {}, web: {hosts: []}, persistence: {size: 1Gi, storageLimit: 800MiB}}"},
	"closed to everybody":             {"x", "networkPolicy: {enabled: true}"},
	"with values that look like more": {"x", `{retention: "1h", podAnnotations: {a: "true", b: "1"}, web: {hosts: ["127.0.0.1"]}}`},
}

func TestChartKeepsItsPromises(t *testing.T) {
	t.Parallel()
	image := readDockerfile(t)
	for name, r := range renderings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := render(t.Context(), r.release, r.values)
			if err != nil {
				t.Fatal(err)
			}
			if len(m.sets) != 1 || len(m.services) != 2 || len(m.accounts) != 1 {
				t.Fatalf("%d StatefulSets, %d Services, %d ServiceAccounts; want 1, 2, 1", len(m.sets), len(m.services), len(m.accounts))
			}
			checkSet(t, &m, image)
			checkServices(t, &m)
			for _, name := range m.names() {
				if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
					t.Errorf("name %q: %s", name, problems)
				}
			}
		})
	}
}

func checkSet(t *testing.T, m *manifests, image dockerfile) {
	t.Helper()
	set := m.sets[0]
	if set.Spec.Replicas == nil || *set.Spec.Replicas != 1 {
		t.Error("the StatefulSet has not exactly one replica")
	}
	// A revision hash of 11 characters is added for a label of at most 63.
	if len(set.Name) > 52 {
		t.Errorf("the name of the StatefulSet has %d characters", len(set.Name))
	}
	matches(t, "StatefulSet", set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)

	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		t.Fatal("the pod has not exactly one container")
	}
	c := pod.Containers[0]
	checkRestricted(t, pod, c)
	if pod.ServiceAccountName != m.accounts[0].Name {
		t.Errorf("the pod runs as %q, and the account is %q", pod.ServiceAccountName, m.accounts[0].Name)
	}
	if auto := m.accounts[0].AutomountServiceAccountToken; auto == nil || *auto {
		t.Error("the account's token is mounted")
	}
	if links := pod.EnableServiceLinks; links == nil || *links {
		t.Error("Kubernetes adds variables that look like our settings")
	}

	// The image and the chart start the same thing.
	if got, want := c.Args, image.command; !slices.Equal(flat(got), flat(want)) {
		t.Errorf("args are %q, and the image's command is %q", got, want)
	}
	if len(c.Command) != 0 {
		t.Error("the image's entry point is replaced")
	}
	for _, port := range []struct{ name, flag string }{{"nats", "--nats-addr"}, {"http", "--http-addr"}, {"ops", "--ops-addr"}} {
		i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.name })
		if i < 0 {
			t.Errorf("the container names no port %s", port.name)
			continue
		}
		if want := image.port(t, port.flag); c.Ports[i].ContainerPort != want {
			t.Errorf("port %s is %d, and %s says %d", port.name, c.Ports[i].ContainerPort, port.flag, want)
		}
	}
	for name, probe := range map[string]struct {
		*corev1.Probe
		path string
	}{"startup": {c.StartupProbe, "/readyz"}, "liveness": {c.LivenessProbe, "/healthz"}, "readiness": {c.ReadinessProbe, "/readyz"}} {
		if probe.Probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.String() != "ops" || probe.HTTPGet.Path != probe.path {
			t.Errorf("the %s probe does not ask %s of the ops port", name, probe.path)
		}
	}
	checkVolume(t, set, c, image)
	checkEnvironment(t, c)
	limit := resource.MustParse(strings.TrimSuffix(value(c.Env, "ASKBUS_MAX_STORE"), "B"))
	if size := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage(); limit.Cmp(*size) >= 0 {
		t.Errorf("the ledger may use %s of a volume of %s", limit.String(), size.String())
	}
}

func value(env []corev1.EnvVar, name string) string {
	for _, e := range env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// checkRestricted checks the "restricted" pod security standard, and a
// read-only root besides.
func checkRestricted(t *testing.T, pod corev1.PodSpec, c corev1.Container) {
	t.Helper()
	if token := pod.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the pod mounts a token")
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Error("the pod shares a namespace with its node")
	}
	p := pod.SecurityContext
	if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.RunAsUser == nil || *p.RunAsUser != 65532 || p.FSGroup == nil || *p.FSGroup != 65532 {
		t.Error("the pod does not run as user 65532")
	}
	if p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Error("the pod has no seccomp profile")
	}
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
}

func checkVolume(t *testing.T, set *appsv1.StatefulSet, c corev1.Container, image dockerfile) {
	t.Helper()
	if len(set.Spec.VolumeClaimTemplates) != 1 || len(c.VolumeMounts) != 1 {
		t.Fatal("the set has not exactly one volume, mounted once")
	}
	claim, mount := set.Spec.VolumeClaimTemplates[0], c.VolumeMounts[0]
	if mount.Name != claim.Name || mount.MountPath != image.volume || mount.ReadOnly {
		t.Errorf("volume %q is mounted as %+v, and the image keeps its data in %q", claim.Name, mount, image.volume)
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(resource.MustParse("1Gi")) < 0 {
		t.Errorf("the volume has %s", size.String())
	}
	if p := set.Spec.PersistentVolumeClaimRetentionPolicy; p == nil || p.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
		t.Error("scaling to zero deletes the ledger")
	}
}

// An empty variable is not an absent one: a duration of "" does not parse.
func checkEnvironment(t *testing.T, c corev1.Container) {
	t.Helper()
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

func checkServices(t *testing.T, m *manifests) {
	t.Helper()
	ports := map[string]int32{}
	for _, p := range m.sets[0].Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	headless := 0
	for _, s := range m.services {
		matches(t, s.Name, s.Spec.Selector, m.sets[0].Spec.Template.Labels)
		for _, p := range s.Spec.Ports {
			if _, ok := ports[p.TargetPort.String()]; !ok {
				t.Errorf("service %s sends port %d to %q, which the pod does not have", s.Name, p.Port, p.TargetPort.String())
			}
			if p.TargetPort.String() == "ops" && s.Spec.ClusterIP != corev1.ClusterIPNone {
				t.Errorf("service %s offers profiles to everybody", s.Name)
			}
			if s.Spec.ClusterIP == corev1.ClusterIPNone && ports[p.TargetPort.String()] != p.Port {
				t.Errorf("headless service %s names port %d, and the pod listens on %d", s.Name, p.Port, ports[p.TargetPort.String()])
			}
		}
		if s.Spec.ClusterIP == corev1.ClusterIPNone {
			headless++
			if s.Name != m.sets[0].Spec.ServiceName {
				t.Errorf("the StatefulSet belongs to service %q, not to %q", m.sets[0].Spec.ServiceName, s.Name)
			}
		}
	}
	if headless != 1 {
		t.Errorf("%d headless services", headless)
	}
	for _, b := range m.budgets {
		matches(t, "PodDisruptionBudget", b.Spec.Selector.MatchLabels, m.sets[0].Spec.Template.Labels)
	}
	for _, p := range m.policies {
		matches(t, "NetworkPolicy", p.Spec.PodSelector.MatchLabels, m.sets[0].Spec.Template.Labels)
		for _, rule := range p.Spec.Ingress {
			if len(rule.From) == 0 {
				t.Error("a rule of the NetworkPolicy lets in everybody")
			}
		}
	}
}

func matches(t *testing.T, what string, selector, labels map[string]string) {
	t.Helper()
	if len(selector) == 0 {
		t.Errorf("%s selects every pod", what)
	}
	for k, v := range selector {
		if labels[k] != v {
			t.Errorf("%s selects %s=%s, and the pod has %q", what, k, v, labels[k])
		}
	}
}

func (m *manifests) names() []string {
	var names []string
	for _, o := range m.sets {
		names = append(names, o.Name)
	}
	for _, o := range m.services {
		names = append(names, o.Name)
	}
	return names
}

func TestValuesReachTheManifests(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "bus", everything)
	if err != nil {
		t.Fatal(err)
	}
	set := m.sets[0]
	c := set.Spec.Template.Spec.Containers[0]
	if want := "registry.example/askbus@sha256:"; !strings.HasPrefix(c.Image, want) {
		t.Errorf("the image is %q", c.Image)
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			env[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
		}
	}
	want := map[string]string{
		"ASKBUS_RETENTION":      "168h30m",
		"ASKBUS_PARTITIONS":     "8",
		"ASKBUS_MAX_STORE":      "80GiB",
		"ASKBUS_WEB_HOSTS":      "ask.example.com,ask.example.com:8443",
		"ASKBUS_WEB_COOKIE_KEY": "askbus-cookie/k",
		"ASKBUS_LOG_LEVEL":      "debug",
		"NODE":                  "",
	}
	if !maps.Equal(env, want) {
		t.Errorf("the environment is %v, want %v", env, want)
	}
	claim := set.Spec.VolumeClaimTemplates[0].Spec
	if claim.StorageClassName == nil || *claim.StorageClassName != "fast" || claim.Resources.Requests.Storage().String() != "100Gi" {
		t.Errorf("the volume is %+v", claim)
	}
	if len(m.budgets) != 1 || len(m.policies) != 1 || len(m.policies[0].Spec.Ingress) != 2 {
		t.Errorf("%d budgets, %d policies", len(m.budgets), len(m.policies))
	}
	if !strings.Contains(m.notes, "helm uninstall") {
		t.Error("the notes do not warn that uninstalling deletes the volume")
	}

	m, err = render(t.Context(), "askbus", "")
	if err != nil {
		t.Fatal(err)
	}
	if env := m.sets[0].Spec.Template.Spec.Containers[0].Env; len(env) != 1 || env[0].Name != "ASKBUS_MAX_STORE" {
		t.Errorf("the defaults set %v; but for the limit, which goes with the volume, the program has its own", env)
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{
		"a replica count":                 "replicas: 3",
		"a misspelt value":                "persist: {size: 1Gi}",
		"a misspelt value further down":   "web: {host: [a]}",
		"a size without sense":            "persistence: {size: large}",
		"a volume that many nodes write":  "persistence: {accessModes: [ReadWriteMany]}",
		"no access mode":                  "persistence: {accessModes: []}",
		"a limit without sense":           "persistence: {storageLimit: much}",
		"no limit":                        "persistence: {storageLimit: ''}",
		"a retention that is no duration": "retention: 30d",
		"a retention that is a number":    "retention: 30",
		"fewer partitions than none":      "partitions: -1",
		"too many partitions":             "partitions: 101",
		"partitions as text":              `partitions: "4"`,
		"a host with a scheme":            "web: {hosts: ['https://ask.example.com']}",
		"hosts as text":                   "web: {hosts: ask.example.com}",
		"a digest that is none":           "image: {digest: latest}",
		"an unknown pull policy":          "image: {pullPolicy: Sometimes}",
		"a service of an unknown type":    "service: {type: ExternalName}",
		"a port out of range":             "service: {ports: {nats: 0, http: 80}}",
		"an annotation that is a number":  "podAnnotations: {a: 1}",
		"an environment as a map":         "extraEnv: {A: b}",
		"no time to drain":                "terminationGracePeriodSeconds: 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := render(t.Context(), "askbus", values); err == nil {
				t.Errorf("%s was accepted", values)
			}
		})
	}
}

// The strictness that the other tests rely on.
func TestUnknownFieldsOfManifestsAreErrors(t *testing.T) {
	t.Parallel()
	var m manifests
	if err := m.add("apiVersion: v1\nkind: Service\nspec: {sellector: {a: b}}\n"); err == nil {
		t.Error("a misspelt field was accepted")
	}
	if err := m.add("apiVersion: v1\nkind: Service\nspec: {ClusterIP: None}\n"); err == nil {
		t.Error("a field in the wrong case was accepted")
	}
	if err := m.add("apiVersion: v1\nkind: Secret\n"); err == nil {
		t.Error("a kind that no test looks at was accepted")
	}
}
