package deploytest_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

const everything = `
image: { repository: registry.example/askbus, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always }
imagePullSecrets: [{ name: pull }]
retention: 168h30m
logLevel: debug
partitions: 8
persistence: { size: 100Gi, storageClass: fast, accessModes: [ReadWriteOncePod], storageLimit: 80GiB, whenDeleted: Delete }
web:
  hosts: [ask.example.com, "ask.example.com:8443"]
  cookieKey: { existingSecret: askbus-cookie, key: k }
extraEnv:
  - { name: ASKBUS_WEB_IDLE, value: 8h }
  - { name: NODE, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
credentials: { existing: { keys: bus-auth, test: bus-check } }
backup: { enabled: true, schedule: "0 * * * *", claim: { size: 5Gi, storageClass: slow }, extraEnv: [{ name: GOMEMLIMIT, value: 200MiB }] }
service:
  type: LoadBalancer
  annotations: { a: b }
  ports: { nats: 4222, http: 80 }
  nats: { annotations: { c: d }, loadBalancerClass: example.com/internal, loadBalancerSourceRanges: [10.0.0.0/8], externalTrafficPolicy: Local, ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4], insecure: true }
serviceAccount: { name: bus, annotations: { a: b } }
resources: { requests: { cpu: "2", memory: 1Gi }, limits: { memory: 2Gi } }
terminationGracePeriodSeconds: 30
podAnnotations: { a: b }
podLabels: { team: platform, app.kubernetes.io/name: mine }
commonLabels: { team: all, app.kubernetes.io/component: mine }
nodeSelector: { disk: ssd }
tolerations: [{ key: k, operator: Exists }]
affinity: { nodeAffinity: {} }
priorityClassName: high
podDisruptionBudget: { enabled: true, single: true }
networkPolicy:
  enabled: true
  from: [{ namespaceSelector: { matchLabels: { agents: "true" } } }]
  opsFrom: [{ podSelector: {} }]
`

const cluster = `
shape: cluster
backup: { enabled: true, keep: 30, timeZone: Europe/Berlin, s3: { bucket: bus-backups, prefix: /east/askbus/, endpoint: "https://s3.example", secret: s3, egress: [{ to: [{ ipBlock: { cidr: 10.9.0.0/16 } }] }] }, alert: { enabled: true, afterHours: 30 } }
commonLabels: { team: platform }
commonAnnotations: { owner: platform }
partitions: 8
margin: 12h
server: { nodeSelector: { disk: ssd }, resources: { requests: { cpu: "1", memory: 2Gi } } }
broker: { replicas: 3, autoscaling: { enabled: true, min: 3, max: 9, cpu: 60 }, extraEnv: [{ name: GOMEMLIMIT, value: 900MiB }] }
web: { autoscaling: { enabled: true }, priorityClassName: people, extraVolumes: [{ name: v, emptyDir: {} }], extraVolumeMounts: [{ name: v, mountPath: /v }] }
gateway: { replicas: 4, corsOrigins: ["https://a.example"], embedOrigins: ["https://b.example"] }
responders:
  - { name: slack, tenant: acme, command: [slack], replicas: 2, envFrom: [{ secretRef: { name: slack } }] }
  - { name: slack-http, tenant: other, command: [slack], hears: http, port: 8430, path: /slack, scaling: { min: 2, max: 12, target: 50 }, existingSecret: slack-http-creds }
  - { name: telegram, tenant: acme, command: [telegram], envFrom: [{ secretRef: { name: telegram } }] }
  - { name: telegram-http, tenant: other, command: [telegram], hears: http, port: 8431, path: /telegram, replicas: 3 }
  - name: webhook
    command: [/creds/creds.json]
    hears: nothing
    image: { repository: registry.example/webhook, tag: "1" }
    scaling: { min: 0, max: 5 }
    egress: [{ to: [{ ipBlock: { cidr: 10.0.0.0/8 } }] }]
  - { name: push, command: [push], hears: nothing, replicas: 2 }
issuer:
  enabled: true
  rules:
    issuers: [{ name: cluster, issuer: "https://kubernetes.default.svc.cluster.local", audience: askbus, jwks_file: jwks.json }]
    rules: [{ issuer: cluster, match: { sub: "system:serviceaccount:agents:*" }, tenant: default, sessions: ["{kubernetes.io/serviceaccount/name}"] }]
  files: { jwks.json: '{"keys":[]}' }
ingress: { enabled: true, className: nginx, host: ask.example.com }
httpRoute: { enabled: true, parentRefs: [{ name: public, namespace: infra }], hostnames: [ask2.example.com] }
serviceMonitor: { enabled: true, labels: { release: prometheus } }
prometheusRule: { enabled: true, labels: { release: prometheus } }
dashboard: { enabled: true, annotations: { grafana_folder: askbus } }
networkPolicy:
  enabled: true
  from: [{ namespaceSelector: { matchLabels: { agents: "true" } } }]
  ingressFrom: [{ namespaceSelector: { matchLabels: { name: ingress } } }]
  opsFrom: [{ namespaceSelector: { matchLabels: { name: monitoring } } }]
`

const webhooks = `
shape: cluster
web: { url: "https://ask.example.com" }
responders:
  - { name: calls, command: [webhook], port: 8431, path: /webhooks/answer, webhooks: { existingSecret: hooks }, replicas: 2, extraVolumes: [{ name: v, emptyDir: {} }] }
ingress: { enabled: true, host: ask.example.com }
`

const external = `
shape: cluster
nats: { url: "tls://nats.infra:4222" }
credentials: { generate: false, existing: { broker: b, web: w, gateway: g, test: t, issuer: i, keys: k } }
responders:
  - name: chat
    command: [slack]
    replicas: 1
    existingSecret: chat-creds
  - name: mail
    command: [mail]
    image: { repository: registry.example/mail, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
    hears: nothing
    existingSecret: mail-creds
    scaling: { min: 0, max: 3, natsJetStream: { endpoint: "nats-headless.infra:8222", accountID: ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA } }
networkPolicy: { enabled: true, natsTo: [{ namespaceSelector: { matchLabels: { name: infra } } }] }
`

const secure = `
shape: cluster
tls: { nats: { existingSecret: nats-tls, clientSecret: nats-client }, http: { existingSecret: http-tls } }
responders:
  - { name: slack-http, command: [slack], hears: http, port: 8430, path: /slack, replicas: 2 }
  - { name: hook, command: [x], image: { repository: registry.example/hook, tag: "1" }, port: 80, replicas: 1 }
`

var renderings = map[string]struct{ release, values string }{
	"with the defaults":             {"askbus", ""},
	"with every value":              {"bus", everything},
	"of a release with a long name": {"a-release-with-a-name-as-long-as-helm-allows-them-53c", "shape: cluster\nresponders: [{name: a-type-with-20-chars, command: [x], port: 80}]"},
	"with another name":             {"x", "fullnameOverride: questions"},
	"as small as it can be":         {"x", "{resources: {}, web: {hosts: []}, persistence: {size: 1Gi, storageLimit: 800MiB}, credentials: {renew: ''}}"},
	"with names like numbers": {"1e3", `
nameOverride: "1"
fullnameOverride: "no"
serviceAccount: { name: "123" }
priorityClassName: "1"
persistence: { storageClass: "2" }
imagePullSecrets: [{ name: "3" }]
credentials: { existing: { keys: "4", test: "5" } }
tls: { nats: { existingSecret: "6", clientSecret: "7" } }
web: { cookieKey: { existingSecret: "8", key: "9" } }
ingress: { enabled: true, className: "1", host: "10", tlsSecret: "11" }
responders: [{ name: "null", type: "1e3", tenant: "0x1", command: [x], image: { repository: r, tag: "1e3" }, existingSecret: "12", port: 80, path: /x, scaling: { min: 1, max: 2 } }]
`},
	"with a PodMonitor":                      {"x", "podMonitor: {enabled: true, relabelings: [{targetLabel: a, sourceLabels: [b]}], metricRelabelings: [{action: drop, regex: go_.*, sourceLabels: [__name__]}]}\nprometheusRule: {enabled: true}"},
	"closed to everybody":                    {"x", "networkPolicy: {enabled: true}"},
	"with values that look like more":        {"x", `{retention: "1h", podAnnotations: {a: "true", b: "1"}, web: {hosts: ["127.0.0.1"]}}`},
	"embedded, with Slack":                   {"x", "responders: [{name: slack, command: [slack], replicas: 1}]\nnetworkPolicy: {enabled: true}"},
	"embedded, with keys of its own":         {"x", "credentials: {generate: false}"},
	"as a cluster":                           {"askbus", "shape: cluster"},
	"as a cluster, with everything":          {"askbus", cluster},
	"as a cluster on another NATS":           {"askbus", external},
	"as a cluster during a restore":          {"askbus", "{shape: cluster, broker: {replicas: 0}}"},
	"as a cluster of one server":             {"askbus", "{shape: cluster, nats: {replicas: 1}, broker: {replicas: 1}}"},
	"as a cluster with TLS":                  {"askbus", secure},
	"embedded, with mutual TLS":              {"askbus", mutual},
	"embedded, with an issuer":               {"x", "issuer: {enabled: true, rules: {rules: []}}\nnetworkPolicy: {enabled: true}"},
	"as a cluster, with an issuer":           {"askbus", "{shape: cluster, issuer: {enabled: true}}"},
	"with an issuer on another NATS":         {"x", external + "issuer: {enabled: true, replicas: 1}"},
	"embedded, with TLS":                     {"askbus", "tls: {http: {existingSecret: x}}\nresponders: [{name: slack, command: [slack], replicas: 1}]"},
	"with TLS on another NATS":               {"askbus", external + "tls: {nats: {existingSecret: ca-of-nats, clientSecret: c}}"},
	"with a name like a number":              {"123", ""},
	"as a cluster, like a number":            {"1e3", `{shape: cluster, responders: [{name: "123", command: [x], tenant: "0123", type: "1e3", port: 80, path: /a, scaling: {min: 1, max: 2}}, {name: "1e3", command: [slack], tenant: "true"}, {name: "null", command: [slack], tenant: "null"}], podLabels: {a: "1"}}`},
	"with a name like a boolean":             {"true", `{responders: [{name: "on", command: [slack], tenant: "yes"}]}`},
	"as a cluster with leaf nodes of others": {"askbus", hub},
	"embedded, with leaf nodes of others":    {"x", "{leafNodes: {listen: {enabled: true}}, tls: {nats: {existingSecret: a}}}"},
	"as a leaf node of others":               {"a-release-with-a-name-as-long-as-helm-allows-them-53c", far},
	"as a cluster with another cookie":       {"askbus", "{shape: cluster, web: {cookieKey: {existingSecret: c, key: k}}}"},
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
			for _, w := range m.workloads() {
				checkPod(t, &m, w)
			}
			for _, set := range all[*appsv1.StatefulSet](&m) {
				checkSet(t, set, image)
			}
			checkSelectors(t, &m)
			checkAccess(t, &m)
			seen := map[string]bool{}
			for _, o := range m.objects {
				key := strings.TrimPrefix(strings.ToLower(kindOf(o)), "*") + "/" + o.GetName()
				if seen[key] {
					t.Errorf("%s is there twice", key)
				}
				seen[key] = true
				if _, ok := o.(*batchv1.CronJob); ok && len(o.GetName()) > 52 {
					t.Errorf("Kubernetes refuses the CronJob %q: its Jobs add 11 characters", o.GetName())
				}
				check := validation.IsDNS1123Label
				if _, ok := o.(*corev1.Service); ok {
					check = validation.IsDNS1035Label
				}
				if problems := check(o.GetName()); len(problems) > 0 || len(o.GetName()) > 63 {
					t.Errorf("name %q: %s", o.GetName(), problems)
				}
				for k, v := range o.GetLabels() {
					if problems := validation.IsValidLabelValue(v); len(problems) > 0 {
						t.Errorf("label %s of %s: %s", k, o.GetName(), problems)
					}
				}
			}
		})
	}
}

// The embedded deployment and the image run the same command, but a pod's log gets no sign-in link.
func TestTheEmbeddedShapeStartsWhatTheImageStarts(t *testing.T) {
	t.Parallel()
	image := readDockerfile(t)
	m, err := render(t.Context(), "askbus", "")
	if err != nil {
		t.Fatal(err)
	}
	set := named[*appsv1.StatefulSet](&m, "askbus")
	if set == nil || set.Spec.Replicas == nil || *set.Spec.Replicas != 1 || len(all[*appsv1.Deployment](&m)) != 0 {
		t.Fatal("not exactly one StatefulSet with one replica")
	}
	c := set.Spec.Template.Spec.Containers[0]
	// A cluster's volume may be open to everybody; the directory below it is not.
	want := slices.Clone(image.command)
	want[slices.Index(want, "/data")] = "/data/askbus"
	want[slices.Index(want, "--no-open")] = "--no-link"
	if got := slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return a == "--key-of=/keys" }); !slices.Equal(flat(got), flat(want)) {
		t.Errorf("args are %q, and the image's command is %q", got, image.command)
	}
	for _, port := range []struct{ name, flag string }{{"nats", "--nats-addr"}, {"http", "--http-addr"}, {"ops", "--ops-addr"}} {
		i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.name })
		if i < 0 || c.Ports[i].ContainerPort != image.port(t, port.flag) {
			t.Errorf("port %s is not that of %s", port.name, port.flag)
		}
	}
	if env := names(c.Env); !slices.Equal(env, []string{"ASKBUS_LOG_LEVEL", "ASKBUS_LOG_FORMAT", "ASKBUS_STORE_WAIT", "ASKBUS_MAX_STORE", "ASKBUS_WEB_HOSTS", "ASKBUS_DIR"}) {
		t.Errorf("the defaults set %v; but for these the program has its own", env)
	}
}

func names(env []corev1.EnvVar) []string {
	var list []string
	for _, e := range env {
		list = append(list, e.Name)
	}
	return list
}

func TestValuesReachTheManifests(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "bus", everything)
	if err != nil {
		t.Fatal(err)
	}
	set := all[*appsv1.StatefulSet](&m)[0]
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
		"ASKBUS_DIR":            "/data/askbus",
		"ASKBUS_RETENTION":      "168h30m",
		"ASKBUS_PARTITIONS":     "8",
		"ASKBUS_MAX_STORE":      "80GiB",
		"ASKBUS_WEB_HOSTS":      "ask.example.com,ask.example.com:8443,bus-askbus,bus-askbus.default,bus-askbus.default.svc,bus-askbus.default.svc.cluster.local",
		"ASKBUS_WEB_COOKIE_KEY": "askbus-cookie/k",
		"ASKBUS_LOG_FORMAT":     "json",
		"ASKBUS_LOG_LEVEL":      "debug",
		"ASKBUS_STORE_WAIT":     "2m",
		"ASKBUS_WEB_IDLE":       "8h",
		"NODE":                  "",
	}
	if !maps.Equal(env, want) {
		t.Errorf("the environment is %v, want %v", env, want)
	}
	claim := set.Spec.VolumeClaimTemplates[0].Spec
	if claim.StorageClassName == nil || *claim.StorageClassName != "fast" || claim.Resources.Requests.Storage().String() != "100Gi" {
		t.Errorf("the volume is %+v", claim)
	}
	if len(all[*policyv1.PodDisruptionBudget](&m)) != 1 {
		t.Error("no budget for a single replica")
	}
	if !strings.Contains(m.notes, "helm uninstall") {
		t.Error("the notes do not warn that uninstalling deletes the volume")
	}
}

func TestTheClusterHasWhatItsValuesSay(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", cluster)
	if err != nil {
		t.Fatal(err)
	}
	server := named[*appsv1.StatefulSet](&m, "askbus-nats")
	c := server.Spec.Template.Spec.Containers[0]
	if *server.Spec.Replicas != 3 || !slices.Contains(c.Args, "--cluster=askbus-nats-0=askbus-nats-0.askbus-nats-headless:6222,askbus-nats-1=askbus-nats-1.askbus-nats-headless:6222,askbus-nats-2=askbus-nats-2.askbus-nats-headless:6222") {
		t.Errorf("the servers are started with %q", c.Args)
	}
	if server.Spec.Template.Spec.NodeSelector["disk"] != "ssd" {
		t.Error("a role's own value does not count")
	}
	broker := named[*appsv1.Deployment](&m, "askbus-broker")
	if broker.Spec.Replicas != nil || !slices.Contains(broker.Spec.Template.Spec.Containers[0].Args, "--replicas=3") {
		t.Error("the broker's replicas are set beside the autoscaler, or its ledger has not three copies")
	}
	if got := value(broker.Spec.Template.Spec.Containers[0].Env, "ASKBUS_RESPONDER_TYPES"); got != "slack@acme,slack@other,telegram@acme,telegram@other,webhook,push" {
		t.Errorf("the broker prepares %q", got)
	}
	if hpas := all[*autoscalingv2.HorizontalPodAutoscaler](&m); len(hpas) != 2 {
		t.Errorf("%d autoscalers", len(hpas))
	}
	if so := named[*scaledObject](&m, "askbus-webhook"); so == nil || *so.Spec.MinReplicaCount != 0 || so.Spec.Triggers[0].Metadata["url"] != "http://askbus-broker-ops.default.svc:8421/backlog/webhook" {
		t.Errorf("webhook scales by %+v", so)
	}
	if n := len(all[*scaledObject](&m)); n != 2 {
		t.Errorf("%d types are scaled", n)
	}
	polls := named[*appsv1.Deployment](&m, "askbus-telegram")
	if *polls.Spec.Replicas != 1 || polls.Spec.Strategy.RollingUpdate.MaxSurge.IntVal != 0 || value(polls.Spec.Template.Spec.Containers[0].Env, "ASKBUS_TELEGRAM_INBOX") == "" {
		t.Errorf("Telegram is %+v", polls.Spec)
	}
	if got := value(named[*appsv1.Deployment](&m, "askbus-telegram-http").Spec.Template.Spec.Containers[0].Env, "ASKBUS_TELEGRAM_WEBHOOK_URL"); !strings.HasPrefix(got, "https://") {
		t.Errorf("Telegram calls %q", got)
	}
	if got := value(named[*appsv1.Deployment](&m, "askbus-slack-http").Spec.Template.Spec.Containers[0].Env, "ASKBUS_SLACK_REPLICAS"); got != "12" {
		t.Errorf("Slack's limits are divided by %q", got)
	}
	if in := named[*networkingv1.Ingress](&m, "askbus"); len(in.Spec.TLS) != 1 || len(in.Spec.Rules[0].HTTP.Paths) != 14 {
		t.Errorf("the ingress is %+v", in.Spec)
	}
	if r := named[*httpRoute](&m, "askbus"); len(r.Spec.Rules) != 5 || len(r.Spec.Rules[2].Matches) > 8 || r.Spec.Rules[4].BackendRefs[0].Name != "askbus-web" {
		t.Errorf("the route is %+v", r.Spec)
	}
	if b := all[*policyv1.PodDisruptionBudget](&m); len(b) != 9 {
		t.Errorf("%d budgets", len(b))
	}
	if len(all[*serviceMonitor](&m)) != 1 {
		t.Error("no ServiceMonitor")
	}
	m, err = render(t.Context(), "askbus", external)
	if err != nil {
		t.Fatal(err)
	}
	if so := named[*scaledObject](&m, "askbus-mail"); len(so.Spec.Triggers) != 8 || so.Spec.Advanced.ScalingModifiers.Formula != "p0q + p0o + p1q + p1o + p2q + p2o + p3q + p3o" {
		t.Errorf("mail scales by %+v", so.Spec)
	}
	if len(all[*appsv1.StatefulSet](&m)) != 0 || len(all[*batchv1.Job](&m)) != 0 || len(all[*rbacv1.Role](&m)) != 0 {
		t.Error("with a NATS and Secrets of their own there are still servers, a Job or a Role")
	}
}

// Every listener of a chart has a certificate or declares that it has none, and clients trust the
// servers without access to their key.
func TestTLSReachesEveryListenerAndEveryClient(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", secure)
	if err != nil {
		t.Fatal(err)
	}
	listens := map[string]string{"askbus-nats": "nats-tls", "askbus-web": "http-tls", "askbus-gateway": "http-tls", "askbus-slack-http": "http-tls", "askbus-telegram-http": "http-tls"}
	for _, w := range m.workloads() {
		for _, c := range w.spec.Containers {
			if slices.Contains(c.Args, "--insecure") {
				t.Errorf("%s is insecure", w.name)
			}
			if got := secretAt(w.spec, c, "/tls"); got != listens[w.name] || (got != "") != (value(c.Env, "ASKBUS_TLS_CERT_FILE") == "/tls/tls.crt") {
				t.Errorf("%s has the certificate %q, want %q", w.name, got, listens[w.name])
			}
			if connects := value(c.Env, "ASKBUS_CREDS") != ""; connects {
				if value(c.Env, "ASKBUS_NATS_CA_FILE") != "/tls-nats/ca.crt" || value(c.Env, "ASKBUS_NATS_CERT_FILE") != "/tls-client/tls.crt" || !strings.HasPrefix(value(c.Env, "ASKBUS_NATS_URL"), "tls://") ||
					secretAt(w.spec, c, "/tls-nats") != "nats-tls" || secretAt(w.spec, c, "/tls-client") != "nats-client" {
					t.Errorf("%s does not recognize NATS, or shows it nothing", w.name)
				}
			}
		}
		for _, v := range w.spec.Volumes {
			if v.Name == "tls-nats" && (len(v.Secret.Items) != 1 || v.Secret.Items[0].Key != "ca.crt") {
				t.Errorf("%s gets more of the servers' Secret than its CA", w.name)
			}
		}
	}
	server := named[*appsv1.StatefulSet](&m, "askbus-nats").Spec.Template.Spec.Containers[0]
	if value(server.Env, "ASKBUS_TLS_CLIENT_CA_FILE") != "/tls/ca.crt" {
		t.Error("the servers demand no client certificates")
	}
	for name, protocol := range map[string]string{"askbus-web": "https", "askbus-gateway": "https", "askbus-slack-http": "https", "askbus-hook": "http", "askbus-ops": "http"} {
		if p := named[*corev1.Service](&m, name).Spec.Ports[0].AppProtocol; p == nil || *p != protocol {
			t.Errorf("%s speaks %v", name, p)
		}
	}
	if m, err = render(t.Context(), "askbus", cluster); err != nil {
		t.Fatal(err)
	}
	for _, w := range m.workloads() {
		if _, listening := listens[w.name]; slices.Contains(w.spec.Containers[0].Args, "--insecure") != listening {
			t.Errorf("without TLS %s is started with %q", w.name, w.spec.Containers[0].Args)
		}
	}
}

// secretAt returns the Secret that a container mounts at a path.
func secretAt(pod corev1.PodSpec, c corev1.Container, path string) string {
	i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
	if i < 0 {
		return ""
	}
	j := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == c.VolumeMounts[i].Name })
	if j < 0 || pod.Volumes[j].Secret == nil || !c.VolumeMounts[i].ReadOnly {
		return ""
	}
	return pod.Volumes[j].Secret.SecretName
}

func value(env []corev1.EnvVar, name string) string {
	for _, e := range env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

func checkSet(t *testing.T, set *appsv1.StatefulSet, image dockerfile) {
	t.Helper()
	// Kubernetes adds a revision hash of 11 characters to a label of at most 63.
	if len(set.Name) > 52 {
		t.Errorf("the name of the StatefulSet has %d characters", len(set.Name))
	}
	c := set.Spec.Template.Spec.Containers[0]
	if len(set.Spec.VolumeClaimTemplates) != 1 {
		t.Fatal("the set has not exactly one volume")
	}
	claim := set.Spec.VolumeClaimTemplates[0]
	if i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == claim.Name }); i < 0 || c.VolumeMounts[i].MountPath != image.volume {
		t.Errorf("volume %q is mounted as %+v, and the image keeps its data in %q", claim.Name, c.VolumeMounts, image.volume)
	}
	if p := set.Spec.PersistentVolumeClaimRetentionPolicy; p == nil || p.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
		t.Error("scaling to zero deletes the ledger")
	}
	limit := resource.MustParse(strings.TrimSuffix(value(c.Env, "ASKBUS_MAX_STORE"), "B"))
	if size := claim.Spec.Resources.Requests.Storage(); limit.Cmp(*size) >= 0 {
		t.Errorf("the ledger may use %s of a volume of %s", limit.String(), size.String())
	}
}

// The command webhook gets its file, a listener for the answers of programs, and the address of the inbox's host, to
// which the Ingress sends them.
func TestWebhooksHaveTheirFileAndAddress(t *testing.T) {
	t.Parallel()
	m, err := render(t.Context(), "askbus", webhooks)
	if err != nil {
		t.Fatal(err)
	}
	spec := named[*appsv1.Deployment](&m, "askbus-calls").Spec.Template.Spec
	c := spec.Containers[0]
	for name, want := range map[string]string{
		"ASKBUS_WEBHOOK_FILE": "/webhooks/webhooks.yaml", "ASKBUS_WEBHOOK_HTTP_ADDR": "0.0.0.0:8431", "ASKBUS_WEBHOOK_URL": "https://ask.example.com",
	} {
		if got := value(c.Env, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "hooks" }) ||
		!slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return v.MountPath == "/webhooks" && v.ReadOnly }) ||
		!slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "v" }) {
		t.Errorf("volumes %+v at %+v", spec.Volumes, c.VolumeMounts)
	}
	if got := value(named[*appsv1.Deployment](&m, "askbus-broker").Spec.Template.Spec.Containers[0].Env, "ASKBUS_RESPONDER_TYPES"); got != "webhook" {
		t.Errorf("the broker prepares %q", got)
	}
	in := named[*networkingv1.Ingress](&m, "askbus").Spec.Rules[0].HTTP.Paths
	if !slices.ContainsFunc(in, func(p networkingv1.HTTPIngressPath) bool {
		return p.Path == "/webhooks/answer" && p.Backend.Service.Name == "askbus-calls"
	}) {
		t.Errorf("the ingress has %+v", in)
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{
		"a replica count":                    "replicas: 3",
		"an unknown shape":                   "shape: large",
		"servers elsewhere in one pod":       `nats: {url: "nats://x:4222"}`,
		"two servers":                        "{shape: cluster, nats: {replicas: 2}}",
		"webhooks without a file":            "responders: [{name: a, command: [webhook]}]",
		"a file for another command":         "responders: [{name: a, command: [slack], webhooks: {existingSecret: x}}]",
		"a type without a name":              "responders: [{command: [slack]}]",
		"a type called like a role":          "responders: [{name: web, command: [web], replicas: 1}]",
		"a type twice":                       "responders: [{name: a, command: [x]}, {name: a, command: [x]}]",
		"replicas and scaling":               "responders: [{name: a, command: [x], replicas: 1, scaling: {min: 1, max: 2}}]",
		"Slack at zero":                      "responders: [{name: slack, command: [slack], scaling: {min: 0, max: 2}}]",
		"Slack over HTTP at zero":            "responders: [{name: slack, command: [slack], hears: http, port: 80, scaling: {min: 0, max: 2}}]",
		"four sockets to Slack":              "responders: [{name: slack, command: [slack], scaling: {min: 1, max: 4}}]",
		"four replicas with sockets":         "responders: [{name: chat, command: [x], hears: socket, replicas: 4}]",
		"Slack that hears nothing":           "responders: [{name: slack, command: [slack], hears: nothing}]",
		"Slack over HTTP without a port":     "responders: [{name: slack, command: [slack], hears: http}]",
		"two pollers of Telegram":            "responders: [{name: telegram, command: [telegram], replicas: 2}]",
		"a poller that may be doubled":       "responders: [{name: telegram, command: [telegram], scaling: {min: 1, max: 2}}]",
		"a poller at zero":                   "responders: [{name: telegram, command: [telegram], scaling: {min: 0, max: 1}}]",
		"two gateways of Discord":            "responders: [{name: discord, command: [discord], replicas: 2}]",
		"four connections to Feishu":         "responders: [{name: feishu, command: [feishu], replicas: 4}]",
		"Discord over HTTP without a port":   "responders: [{name: discord, command: [discord], hears: http}]",
		"Teams without a port":               "responders: [{name: teams, command: [teams]}]",
		"Mattermost at zero":                 "responders: [{name: mattermost, command: [mattermost], port: 80, scaling: {min: 0, max: 2}}]",
		"a type for a chat":                  "responders: [{name: a, command: [telegram], type: a}]",
		"clicks for a type at zero":          "responders: [{name: a, command: [x], hears: http, scaling: {min: 0, max: 2}}]",
		"zero for who says nothing":          "responders: [{name: a, command: [x], scaling: {min: 0, max: 2}}]",
		"a path without a port":              "responders: [{name: a, command: [x], path: /a}]",
		"no Secrets and no Job":              "{shape: cluster, credentials: {generate: false}}",
		"an ingress without a host":          "ingress: {enabled: true}",
		"a route without a Gateway":          "httpRoute: {enabled: true, hostnames: [a]}",
		"a misspelt value":                   "persist: {size: 1Gi}",
		"a misspelt value further down":      "web: {host: [a]}",
		"a size without sense":               "persistence: {size: large}",
		"a volume that many nodes write":     "persistence: {accessModes: [ReadWriteMany]}",
		"no access mode":                     "persistence: {accessModes: []}",
		"a limit without sense":              "persistence: {storageLimit: much}",
		"no limit":                           "persistence: {storageLimit: ''}",
		"a retention that is not a duration": "retention: 30d",
		"a retention that is a number":       "retention: 30",
		"fewer partitions than none":         "partitions: -1",
		"too many partitions":                "partitions: 101",
		"partitions as text":                 `partitions: "4"`,
		"a host with a scheme":               "web: {hosts: ['https://ask.example.com']}",
		"hosts as text":                      "web: {hosts: ask.example.com}",
		"a digest that is none":              "image: {digest: latest}",
		"an unknown pull policy":             "image: {pullPolicy: Sometimes}",
		"a service of an unknown type":       "service: {type: ExternalName}",
		"a port out of range":                "service: {ports: {nats: 0, http: 80}}",
		"an annotation that is a number":     "podAnnotations: {a: 1}",
		"an environment as a map":            "extraEnv: {A: b}",
		"two certificates of one process":    "tls: {nats: {existingSecret: a}, http: {existingSecret: b}}",
		"a certificate in the values":        "tls: {http: {crt: x}}",
		"push beside askbus up":              "responders: [{name: push, command: [push], hears: nothing}]",
		"an issuer in the list":              "{shape: cluster, responders: [{name: issuer, command: [issuer]}]}",
		"rules that are a text":              "issuer: {enabled: true, rules: 'issuers: []'}",
		"no time to drain":                   "terminationGracePeriodSeconds: 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := render(t.Context(), "askbus", values); err == nil {
				t.Errorf("%s was accepted", values)
			}
		})
	}
}

// Where pods may run, what they are labelled with, and from where their image comes are true of
// every pod: of Jobs and of the test as well.
func TestValuesOfEveryPodReachEveryPod(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"", "shape: cluster\n"} {
		m, err := render(t.Context(), "bus", shape+`
imagePullSecrets: [{ name: pull }]
podAnnotations: { sidecar.istio.io/inject: "false" }
podLabels: { team: platform, app.kubernetes.io/name: mine }
commonLabels: { team: all, app.kubernetes.io/component: mine }
nodeSelector: { disk: ssd }
tolerations: [{ key: k, operator: Exists }]
affinity: { nodeAffinity: {} }
priorityClassName: high
runtimeClassName: gvisor
dnsConfig: { options: [{ name: ndots, value: "1" }] }
hostAliases: [{ ip: 10.0.0.1, hostnames: [idp.example.com] }]
extraObjects:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: mine }, data: { a: b } }
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ include "askbus.fullname" . }}-mine
responders: [{ name: slack, command: [slack], replicas: 1 }]
`)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]bool{}
		for _, w := range m.workloads() {
			kinds[w.what] = true
			s := w.spec
			if len(s.ImagePullSecrets) != 1 || s.NodeSelector["disk"] != "ssd" || len(s.Tolerations) != 1 || s.Affinity == nil || s.PriorityClassName != "high" {
				t.Errorf("%s %s: image pull secrets %v, node selector %v, tolerations %v, affinity %v, priority %q", w.what, w.name, s.ImagePullSecrets, s.NodeSelector, s.Tolerations, s.Affinity, s.PriorityClassName)
			}
			if s.RuntimeClassName == nil || *s.RuntimeClassName != "gvisor" || s.DNSConfig == nil || len(s.DNSConfig.Options) != 1 || len(s.HostAliases) != 1 {
				t.Errorf("%s %s: runtime class %v, DNS %v, hosts %v", w.what, w.name, s.RuntimeClassName, s.DNSConfig, s.HostAliases)
			}
			// Selectors need the chart's own labels.
			if w.labels["app.kubernetes.io/name"] != "askbus" || w.labels["app.kubernetes.io/component"] == "mine" {
				t.Errorf("%s %s: labels %v", w.what, w.name, w.labels)
			}
			if w.labels["team"] != "platform" || w.annotations["sidecar.istio.io/inject"] != "false" {
				t.Errorf("%s %s: labels %v, annotations %v", w.what, w.name, w.labels, w.annotations)
			}
		}
		var extra []string
		for _, o := range all[*corev1.ConfigMap](&m) {
			extra = append(extra, o.GetName())
		}
		for _, name := range []string{"mine", "bus-askbus-mine"} {
			if !slices.Contains(extra, name) {
				t.Errorf("no object %s in %q", name, extra)
			}
		}
		if !kinds["StatefulSet"] || !kinds["Deployment"] || !kinds["Job"] || !kinds["CronJob"] || !kinds["Pod"] {
			t.Errorf("only %v", kinds)
		}
	}
}

// Values that platform teams set in every chart: each is where Kubernetes reads it, and takes nothing else away.
func TestRolesVolumesAndRollouts(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"", "shape: cluster\n"} {
		m, err := render(t.Context(), "bus", shape+`
rbac: { create: false }
serviceAccount: { create: false, name: ours }
revisionHistoryLimit: 3
probes: { startup: { failureThreshold: 600 }, liveness: { initialDelaySeconds: 5 } }
initContainers: [{ name: wait, image: busybox }]
persistence: { annotations: { backup: "yes" } }
broker: { autoscaling: { enabled: true, behavior: { scaleDown: { stabilizationWindowSeconds: 600 } } } }
issuer: { enabled: true, tokenReview: true, rules: { issuers: [{ name: c, issuer: c, audience: askbus, token_review: true }], rules: [] } }
responders: [{ name: mail, command: [x], scaling: { min: 1, max: 4, fallback: { failureThreshold: 3, replicas: 2 } } }]
`)
		if err != nil {
			t.Fatal(err)
		}
		if made := len(all[*corev1.ServiceAccount](&m)) + len(all[*rbacv1.Role](&m)) + len(all[*rbacv1.RoleBinding](&m)) + len(all[*rbacv1.ClusterRole](&m)) + len(all[*rbacv1.ClusterRoleBinding](&m)); made != 0 {
			t.Errorf("%d accounts, roles and bindings are made", made)
		}
		set := all[*appsv1.StatefulSet](&m)[0]
		if claims := set.Spec.VolumeClaimTemplates; len(claims) != 1 || claims[0].Annotations["backup"] != "yes" {
			t.Errorf("claims %+v", claims)
		}
		history := []*int32{set.Spec.RevisionHistoryLimit}
		for _, d := range all[*appsv1.Deployment](&m) {
			history = append(history, d.Spec.RevisionHistoryLimit)
		}
		for _, n := range history {
			if n == nil || *n != 3 {
				t.Errorf("revision histories %v", history)
			}
		}
		pod := set.Spec.Template.Spec
		c := pod.Containers[0]
		if pod.ServiceAccountName != "bus-askbus-issuer" && pod.ServiceAccountName != "ours" || len(pod.InitContainers) != 1 {
			t.Errorf("account %s, init containers %v", pod.ServiceAccountName, pod.InitContainers)
		}
		if c.StartupProbe.FailureThreshold != 600 || c.StartupProbe.PeriodSeconds != 2 || c.LivenessProbe.InitialDelaySeconds != 5 || c.ReadinessProbe.FailureThreshold != 2 {
			t.Errorf("probes %v, %v, %v", c.StartupProbe, c.LivenessProbe, c.ReadinessProbe)
		}
		for _, h := range all[*autoscalingv2.HorizontalPodAutoscaler](&m) {
			if b := h.Spec.Behavior; b == nil || *b.ScaleDown.StabilizationWindowSeconds != 600 {
				t.Errorf("%s scales as %+v", h.Name, b)
			}
		}
		for _, s := range all[*scaledObject](&m) {
			if f := s.Spec.Fallback; f == nil || f.Replicas != 2 || f.FailureThreshold != 3 {
				t.Errorf("%s falls back to %+v", s.GetName(), f)
			}
		}
	}
	m, err := render(t.Context(), "bus", "persistence: { existingClaim: mine }\n")
	if err != nil {
		t.Fatal(err)
	}
	set := all[*appsv1.StatefulSet](&m)[0]
	i := slices.IndexFunc(set.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "data" })
	if len(set.Spec.VolumeClaimTemplates) != 0 || i < 0 || set.Spec.Template.Spec.Volumes[i].PersistentVolumeClaim.ClaimName != "mine" {
		t.Errorf("claims %v, volumes %v", set.Spec.VolumeClaimTemplates, set.Spec.Template.Spec.Volumes)
	}
}

// The rest of what platform teams expect: a trial without volumes, variables of all pods, how a version is rolled out,
// several hosts, filters, scaling by what is held, and quotas.
func TestTrialsHostsStrategiesAndQuotas(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"embedded", "cluster"} {
		m, err := render(t.Context(), "bus", "shape: "+shape+`
persistence: { enabled: false }
envFrom: [{ secretRef: { name: proxy } }]
policy: { default: { pending: 100 }, tenants: { ci: { session: { asks_per_second: 5 } } } }
podDisruptionBudget: { maxUnavailable: 25% }
topologySpread: { hostname: DoNotSchedule, zone: "" }
server: { updateStrategy: { type: OnDelete } }
broker: { autoscaling: { enabled: true, heldRequests: 5000 } }
gateway: { autoscaling: { enabled: true, heldRequests: 8000 }, updateStrategy: { type: Recreate } }
ingress: { enabled: true, host: ask.example.com, hosts: [ask.example.org] }
httpRoute: { enabled: true, parentRefs: [{ name: public }], hostnames: [a.example.com], filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { remove: [X-Debug] } }] }
`)
		if err != nil {
			t.Fatal(err)
		}
		set := all[*appsv1.StatefulSet](&m)[0]
		pod := set.Spec.Template.Spec
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "data" })
		if len(set.Spec.VolumeClaimTemplates) != 0 || i < 0 || pod.Volumes[i].EmptyDir == nil || set.Spec.PersistentVolumeClaimRetentionPolicy != nil || set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
			t.Errorf("%s: claims %v, volumes %v, strategy %v", shape, set.Spec.VolumeClaimTemplates, pod.Volumes, set.Spec.UpdateStrategy)
		}
		// The note in the keys would keep a pod with a new empty directory from starting.
		for _, w := range m.workloads() {
			for _, c := range w.spec.Containers {
				if slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--servers=") }) {
					t.Errorf("%s %s notes the ledger: %q", w.what, w.name, c.Args)
				}
				if w.what == "StatefulSet" || w.what == "Deployment" {
					if len(c.EnvFrom) != 1 || c.EnvFrom[0].SecretRef.Name != "proxy" {
						t.Errorf("%s %s: variables from %v", w.what, w.name, c.EnvFrom)
					}
				}
				reads := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "ASKBUS_POLICY" })
				mounts := slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return v.Name == "policy" })
				if want := w.what == "StatefulSet" || w.name == "bus-askbus-broker"; reads != want || mounts != want {
					t.Errorf("%s %s: reads the policy: %v, has it: %v", w.what, w.name, reads, mounts)
				}
			}
		}
		if p := named[*corev1.ConfigMap](&m, "bus-askbus-policy"); p == nil || !strings.Contains(p.Data["policy.yaml"], "asks_per_second: 5") {
			t.Errorf("policy %v", p)
		}
		if in := all[*networkingv1.Ingress](&m)[0].Spec; len(in.Rules) != 2 || in.Rules[1].Host != "ask.example.org" || len(in.TLS[0].Hosts) != 2 || len(in.Rules[0].HTTP.Paths) != len(in.Rules[1].HTTP.Paths) {
			t.Errorf("ingress %+v", in)
		}
		for _, r := range all[*httpRoute](&m)[0].Spec.Rules {
			if len(r.Filters) != 1 || r.Filters[0].Type != "RequestHeaderModifier" {
				t.Errorf("filters %v", r.Filters)
			}
		}
		if shape == "embedded" {
			continue
		}
		for name, metric := range map[string]string{"broker": "askbus_held_requests", "gateway": "askbus_http_open_requests"} {
			h := named[*autoscalingv2.HorizontalPodAutoscaler](&m, "bus-askbus-"+name).Spec.Metrics
			if len(h) != 2 || h[1].Pods == nil || h[1].Pods.Metric.Name != metric || h[1].Pods.Target.AverageValue.IsZero() {
				t.Errorf("%s scales by %+v", name, h)
			}
		}
		spread := named[*appsv1.Deployment](&m, "bus-askbus-web").Spec.Template.Spec.TopologySpreadConstraints
		if len(spread) != 1 || spread[0].TopologyKey != corev1.LabelHostname || spread[0].WhenUnsatisfiable != corev1.DoNotSchedule {
			t.Errorf("the inbox is spread by %+v", spread)
		}
		if s := named[*appsv1.Deployment](&m, "bus-askbus-gateway").Spec.Strategy.Type; s != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("the gateway is replaced by %s", s)
		}
		for _, b := range all[*policyv1.PodDisruptionBudget](&m) {
			if want := map[bool]string{true: "1", false: "25%"}[b.Name == "bus-askbus-server"]; b.Spec.MaxUnavailable.String() != want {
				t.Errorf("%s allows %s", b.Name, b.Spec.MaxUnavailable)
			}
		}
	}
}

// "helm show values" explains what platform teams set: a value that only the schema names is not found there.
func TestValuesShowWhatPlatformTeamsSet(t *testing.T) {
	t.Parallel()
	values, err := os.ReadFile(chartDir + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"enabled", "apiPorts", "egress", "podSecurityContext", "securityContext", "rbac", "serviceAccount", "existingClaim", "extraObjects", "initContainers", "envFrom", "probes", "updateStrategy", "revisionHistoryLimit",
		"runtimeClassName", "dnsConfig", "hostAliases", "topologySpread", "hosts", "filters", "behavior", "heldRequests", "fallback", "podDisruptionBudget", "maxUnavailable", "podMonitor",
		"serviceMonitor", "relabelings", "metricRelabelings", "prometheusRule", "dashboard", "policy", "loadBalancerClass", "loadBalancerSourceRanges", "ipFamilies",
	} {
		if !strings.Contains(string(values), name+":") {
			t.Errorf("values.yaml does not show %s", name)
		}
	}
}

// A refusal names the value and what is wrong with it. The schema's own message for a "not" does
// neither.
func TestRefusalsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"enabled: false":                        "enabled: only a parent chart whose dependency has condition: askbus.enabled",
		"persist: {size: 1Gi}":                  "additional properties 'persist' not allowed",
		"web: {host: [a]}":                      "at '/web': additional properties 'host' not allowed",
		"shape: large":                          "at '/shape': value must be one of 'embedded', 'cluster'",
		"retention: 30d":                        "at '/retention': '30d' does not match pattern",
		"{shape: cluster, nats: {replicas: 2}}": "at '/nats/replicas': value must be one of 1, 3, 5",
		"responders: [{name: slack, command: [slack], scaling: {min: 0, max: 2}}]":                           "at '/responders/0/scaling/min': minimum: got 0, want 1",
		"responders: [{name: a, command: [slack]}, {name: b, command: [slack]}]":                             "responders a and b are both of the type slack and would share its asks: give each a tenant",
		"responders: [{name: a, command: [slack], tenant: x}, {name: b, command: [slack]}]":                  "responders a and b are both of the type slack",
		"responders: [{name: a, command: [slack], type: a}]":                                                 "responder a: type is a, and the command slack is of the type slack; leave type out",
		"responders: [{name: a, command: [x], tenant: a.b}]":                                                 "at '/responders/0/tenant': 'a.b' does not match pattern",
		"responders: [{name: slack, command: [slack], scaling: {min: 1, max: 4}}]":                           "at '/responders/0/scaling/max': maximum: got 4, want 3",
		"responders: [{name: web, command: [web], replicas: 1}]":                                             "responders: web is the name of a role of its own; choose another",
		"responders: [{name: a, command: [x], replicas: 1, scaling: {min: 1, max: 2}}]":                      "responder a: replicas and scaling exclude each other; set one of them",
		"responders: [{name: a, command: [x], hears: nothing, port: 80}]":                                    "responder a hears nothing, so it has no port; leave port out, or set hears: http",
		"responders: [{name: a, command: [x], path: /a}]":                                                    "responder a has a path and no port",
		"{shape: cluster, responders: [{name: issuer, command: [issuer]}]}":                                  "issuer is a role of its own; set issuer.enabled",
		"tls: {nats: {existingSecret: a}, http: {existingSecret: b}}":                                        "set one of them",
		"{shape: cluster, credentials: {generate: false}}":                                                   "name the Secret in credentials.existing.",
		"nats: {url: 'nats://x:4222'}":                                                                       "nats.url: the shape embedded has a server of its own; set shape: cluster",
		"persistence: {size: 5G}":                                                                            "persistence.storageLimit: 8GiB is more than persistence.size, 5G",
		"persistence: {size: 1.5Ti, storageLimit: 2TiB}":                                                     "persistence.storageLimit: 2TiB is more than persistence.size, 1.5Ti",
		"{shape: cluster, web: {autoscaling: {enabled: true, min: 9, max: 2}}}":                              "web.autoscaling: min is 9 and max is 2",
		"responders: [{name: a, command: [x], scaling: {min: 3, max: 2}}]":                                   "responder a: scaling.min is 3 and scaling.max is 2",
		"{serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}":                                     "serviceMonitor and podMonitor would scrape every pod twice; enable one of them",
		"service: {type: LoadBalancer}":                                                                      "service.nats: LoadBalancer would publish it beyond the cluster in plain text: set tls.nats.existingSecret, or service.nats.insecure=true",
		"{shape: cluster, service: {web: {type: NodePort}}}":                                                 "service.web: NodePort would publish it beyond the cluster in plain text: set tls.http.existingSecret",
		"{shape: cluster, service: {gateway: {type: LoadBalancer}}, tls: {nats: {existingSecret: a}}}":       "service.gateway: LoadBalancer would publish it",
		"service: {nats: {loadBalancerClass: x}}":                                                            "service.nats: loadBalancerClass and loadBalancerSourceRanges are of the type LoadBalancer",
		"service: {nats: {externalTrafficPolicy: Local}}":                                                    "service.nats: externalTrafficPolicy is of the types NodePort and LoadBalancer",
		"service: {nats: {loadBalancerSourceRanges: [10.0.0.1]}}":                                            "'10.0.0.1' does not match pattern",
		"responders: [{name: a, command: [webhook]}]":                                                        "responder a: set webhooks.existingSecret to a Secret with webhooks.yaml",
		"responders: [{name: a, command: [slack], webhooks: {existingSecret: x}}]":                           "responder a: webhooks is for the command [webhook]",
		"responders: [{name: a, command: [x]}, {name: a, command: [x]}]":                                     "responders: two have the same name",
		"{shape: embedded, responders: [{name: push, command: [push], hears: nothing}]}":                     "responders: in the shape embedded askbus up sends push notifications itself; leave push out",
		"issuer: {enabled: true, rules: {issuers: [{name: k, token_review: true}]}}":                         "an issuer of issuer.rules has token_review: set issuer.tokenReview, which lets the pods ask the API server",
		"{shape: cluster, persistence: {existingClaim: mine}}":                                               "persistence.existingClaim: each server has a volume of its own, and there are 3; leave it out",
		"responders: [{name: a, command: [x], scaling: {min: 1, max: 2, fallback: {replicas: 1}}}]":          "at '/responders/0/scaling/fallback': missing property 'failureThreshold'",
		"probes: {startup: {periodSeconds: 0}}":                                                              "at '/probes/startup/periodSeconds': minimum: got 0, want 1",
		"persistence: {enabled: false, existingClaim: c}":                                                    "persistence.existingClaim: persistence.enabled is false; leave one of them out",
		"backup: {enabled: true, s3: {bucket: b}}":                                                           "backup.s3.secret: name a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the bucket",
		"backup: {enabled: true, s3: {bucket: b, secret: s}}":                                                "backup.s3.prefix: give this bus's backups a prefix that no other bus has, also of another cluster: each removes the oldest there",
		"backup: {enabled: true, s3: {bucket: b, secret: s, prefix: p}, claim: {existing: c}}":               "backup.s3.bucket and backup.claim.existing exclude each other",
		"backup: {enabled: true, schedule: daily}":                                                           "at '/backup/schedule': 'daily' does not match pattern",
		"responders: [{name: backup, command: [x]}]":                                                         "responders: backup is the name of a role of its own",
		"tls: {nats: {clientSecret: c}}":                                                                     "tls.nats.clientSecret: the chart's servers ask for client certificates only over TLS; set tls.nats.existingSecret",
		"{shape: cluster, tls: {nats: {clientSecret: c}, http: {existingSecret: h}}}":                        "tls.nats.clientSecret: the chart's servers ask for client certificates only over TLS; set tls.nats.existingSecret",
		"leafNodes: {remotes: [{name: a, existingSecret: x}, {name: a, existingSecret: z}]}":                 "leafNodes.remotes: two have the same name",
		"{leafNodes: {listen: {enabled: true}}, service: {leaf: {type: LoadBalancer}}}":                      "service.leaf: LoadBalancer would publish it beyond the cluster in plain text: set tls.nats.existingSecret",
		"{leafNodes: {remotes: [{name: a, existingSecret: x}]}, responders: [{name: leaf-a, command: [x]}]}": "responders: leaf-a is the name of a leaf node's Deployment; choose another",
		"responders: [{name: leaf, command: [x]}]":                                                           "responders: leaf is the name of a role of its own",
		"leafNodes: {listen: {urls: ['https://x']}}":                                                         "does not match pattern",
		external + "leafNodes: {listen: {enabled: true}}":                                                    "leafNodes.listen: nats.url names servers that the chart does not start",
	} {
		all := []string{values}
		if strings.HasPrefix(values, "responders:") { // in both shapes
			all = append(all, "shape: cluster\n"+values)
		}
		for _, given := range all {
			if _, err := render(t.Context(), "askbus", given); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "'not' failed") {
				t.Errorf("%s: %v\nwant %s", given, err, want)
			}
		}
	}
}

// Every refusal of the templates is tried by a test here, by its words.
func TestEveryRefusalIsTried(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, name := range []string{"chart_test.go", "ledgerleft_test.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(data)
	}
	found := 0
	err := fs.WalkDir(os.DirFS(chartDir), "templates", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".tpl") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(chartDir, path))
		if err != nil {
			return err
		}
		for _, m := range regexp.MustCompile(`fail (?:\(printf )?"([^"]+)"`).FindAllStringSubmatch(string(data), -1) {
			found++
			tried := false
			for _, words := range regexp.MustCompile(`%[sd]|[:;,.]`).Split(m[1], -1) { // a part that a test can quote
				words = strings.TrimSpace(words)
				tried = tried || len(words) > 6 && strings.Contains(tests.String(), words)
			}
			if !tried {
				t.Errorf("%s: no test has the refusal %q", path, m[1])
			}
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d refusals, %v", found, err)
	}
}

// Checks the strictness on which the other tests rely.
func TestUnknownFieldsOfManifestsAreErrors(t *testing.T) {
	t.Parallel()
	for what, document := range map[string]string{
		"a misspelt field":                    "apiVersion: v1\nkind: Service\nspec: {sellector: {a: b}}\n",
		"a field in the wrong case":           "apiVersion: v1\nkind: Service\nspec: {ClusterIP: None}\n",
		"a kind that no test looks at":        "apiVersion: v1\nkind: Secret\n",
		"a field that KEDA has and we do not": "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec: {idleReplicaCount: 0}\n",
	} {
		if err := new(manifests).add(document); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// A variable in extraEnv replaces the chart's of that name, and a role's replaces the one for all roles: an API server
// refuses a pod with a name that comes twice. The others keep their order, because $(NAME) reads earlier ones only.
func TestAVariableReplacesTheChartsOfItsName(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"", "shape: cluster\n"} {
		m, err := render(t.Context(), "bus", shape+`
extraEnv: [{ name: ASKBUS_LOG_LEVEL, value: debug }, { name: ZONE, value: a }, { name: AREA, value: $(ZONE)1 }]
web: { extraEnv: [{ name: ZONE, value: b }] }
`)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range m.workloads() {
			for _, c := range w.spec.Containers {
				if list := names(c.Env); len(list) != len(slices.Compact(slices.Sorted(slices.Values(list)))) {
					t.Errorf("%s %s has a variable twice: %v", w.what, w.name, list)
				}
				for _, e := range c.Env {
					if e.Name == "ASKBUS_LOG_LEVEL" && e.Value != "debug" {
						t.Errorf("%s %s: %s is %q", w.what, w.name, e.Name, e.Value)
					}
					if b := shape != "" && w.name == "bus-askbus-web"; e.Name == "ZONE" && (e.Value == "b") != b {
						t.Errorf("%s %s: %s is %q", w.what, w.name, e.Name, e.Value)
					}
				}
				if list := names(c.Env); w.name == "bus-askbus-gateway" && slices.Index(list, "ZONE") > slices.Index(list, "AREA") {
					t.Errorf("%s %s: the order is %v", w.what, w.name, list)
				}
			}
		}
	}
}
