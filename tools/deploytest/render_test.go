package deploytest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../charts/askbus"

// manifests are the objects of one rendering of the chart.
type manifests struct {
	notes   string
	objects []metav1.Object
}

// render renders the chart as `helm install RELEASE` would, and decodes every manifest strictly.
func render(ctx context.Context, release, values string) (manifests, error) {
	return renderOn(ctx, installed{}, release, values)
}

// renderOn renders the chart as `helm upgrade RELEASE` would on a cluster with these objects.
func renderOn(_ context.Context, there installed, release, values string) (manifests, error) {
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
	files, err := engine.RenderWithClientProvider(chart, all, there)
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

// kinds are the kinds that the chart may render. Those of operators are decoded into the fields
// that we use, so that any other field is an error.
func kinds() map[string]metav1.Object {
	return map[string]metav1.Object{
		"apps/v1 Deployment":                              new(appsv1.Deployment),
		"apps/v1 StatefulSet":                             new(appsv1.StatefulSet),
		"autoscaling/v2 HorizontalPodAutoscaler":          new(autoscalingv2.HorizontalPodAutoscaler),
		"batch/v1 CronJob":                                new(batchv1.CronJob),
		"batch/v1 Job":                                    new(batchv1.Job),
		"v1 Pod":                                          new(corev1.Pod),
		"v1 ConfigMap":                                    new(corev1.ConfigMap),
		"v1 PersistentVolumeClaim":                        new(corev1.PersistentVolumeClaim),
		"v1 Service":                                      new(corev1.Service),
		"v1 ServiceAccount":                               new(corev1.ServiceAccount),
		"networking.k8s.io/v1 Ingress":                    new(networkingv1.Ingress),
		"networking.k8s.io/v1 NetworkPolicy":              new(networkingv1.NetworkPolicy),
		"policy/v1 PodDisruptionBudget":                   new(policyv1.PodDisruptionBudget),
		"rbac.authorization.k8s.io/v1 Role":               new(rbacv1.Role),
		"rbac.authorization.k8s.io/v1 RoleBinding":        new(rbacv1.RoleBinding),
		"rbac.authorization.k8s.io/v1 ClusterRole":        new(rbacv1.ClusterRole),
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding": new(rbacv1.ClusterRoleBinding),
		"keda.sh/v1alpha1 ScaledObject":                   new(scaledObject),
		"monitoring.coreos.com/v1 ServiceMonitor":         new(serviceMonitor),
		"monitoring.coreos.com/v1 PodMonitor":             new(podMonitor),
		"monitoring.coreos.com/v1 PrometheusRule":         new(prometheusRule),
		"gateway.networking.k8s.io/v1 HTTPRoute":          new(httpRoute),
	}
}

type (
	scaledObject struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			ScaleTargetRef struct {
				Name string `json:"name"`
			} `json:"scaleTargetRef"`
			MinReplicaCount *int32 `json:"minReplicaCount"`
			MaxReplicaCount *int32 `json:"maxReplicaCount"`
			PollingInterval *int32 `json:"pollingInterval"`
			CooldownPeriod  *int32 `json:"cooldownPeriod"`
			Fallback        *struct {
				FailureThreshold int32 `json:"failureThreshold"`
				Replicas         int32 `json:"replicas"`
			} `json:"fallback"`
			Advanced *struct {
				ScalingModifiers struct {
					Formula          string `json:"formula"`
					Target           string `json:"target"`
					ActivationTarget string `json:"activationTarget"`
					MetricType       string `json:"metricType"`
				} `json:"scalingModifiers"`
			} `json:"advanced"`
			Triggers []struct {
				Type     string            `json:"type"`
				Name     string            `json:"name"`
				Metadata map[string]string `json:"metadata"`
			} `json:"triggers"`
		} `json:"spec"`
	}
	serviceMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []endpoint           `json:"endpoints"`
		} `json:"spec"`
	}
	podMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []endpoint           `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	endpoint struct {
		Port              string       `json:"port"`
		Path              string       `json:"path"`
		Interval          string       `json:"interval"`
		Relabelings       []relabeling `json:"relabelings"`
		MetricRelabelings []relabeling `json:"metricRelabelings"`
	}
	relabeling struct {
		SourceLabels []string `json:"sourceLabels"`
		TargetLabel  string   `json:"targetLabel"`
		Regex        string   `json:"regex"`
		Action       string   `json:"action"`
	}
	prometheusRule struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []struct {
					Alert       string            `json:"alert"`
					Expr        string            `json:"expr"`
					For         string            `json:"for"`
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	httpRoute struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			ParentRefs []struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"parentRefs"`
			Hostnames []string `json:"hostnames"`
			Rules     []struct {
				Matches []struct {
					Path struct {
						Type  string `json:"type"`
						Value string `json:"value"`
					} `json:"path"`
				} `json:"matches"`
				Filters []struct {
					Type                  string         `json:"type"`
					RequestHeaderModifier map[string]any `json:"requestHeaderModifier"`
				} `json:"filters"`
				BackendRefs []struct {
					Name string `json:"name"`
					Port int32  `json:"port"`
				} `json:"backendRefs"`
			} `json:"rules"`
		} `json:"spec"`
	}
)

// add decodes the documents of a rendered file.
func (m *manifests) add(file string) error {
	documents := kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(file)))
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
			return errors.Join(err, errors.New(string(document)))
		}
		if meta.Kind == "" && onlyComments(document) {
			continue
		}
		object, ok := kinds()[meta.APIVersion+" "+meta.Kind]
		if !ok {
			return fmt.Errorf("this test does not know %s %s:\n%s", meta.APIVersion, meta.Kind, document)
		}
		// As strict as the API server: unknown fields, wrong case and duplicate fields are errors.
		data, err := yaml.YAMLToJSONStrict(document)
		if err == nil {
			var strict []error
			strict, err = json.UnmarshalStrict(data, object)
			err = errors.Join(append(strict, err)...)
		}
		if err != nil {
			return errors.Join(err, errors.New(string(document)))
		}
		m.objects = append(m.objects, object)
	}
}

func onlyComments(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return false
		}
	}
	return true
}

// all returns the objects of one kind.
func all[T metav1.Object](m *manifests) []T {
	var list []T
	for _, o := range m.objects {
		if t, ok := o.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// named returns the object of a kind with a name, or nil.
func named[T metav1.Object](m *manifests, name string) (none T) {
	for _, o := range all[T](m) {
		if o.GetName() == name {
			return o
		}
	}
	return none
}

// workload is an object with pods.
type workload struct {
	what, name  string
	labels      map[string]string // of its pods
	annotations map[string]string
	spec        corev1.PodSpec
	token       bool // it may talk to the API server
}

// workloads returns all workloads of a rendering.
func (m *manifests) workloads() []workload {
	var list []workload
	of := func(what string, o metav1.Object, t corev1.PodTemplateSpec, token bool) {
		list = append(list, workload{what, o.GetName(), t.Labels, t.Annotations, t.Spec, token})
	}
	for _, o := range m.objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			of("Deployment", o, o.Spec.Template, false)
		case *appsv1.StatefulSet:
			of("StatefulSet", o, o.Spec.Template, false)
		case *batchv1.Job:
			of("Job", o, o.Spec.Template, true)
		case *batchv1.CronJob:
			of("CronJob", o, o.Spec.JobTemplate.Spec.Template, strings.HasSuffix(o.Name, "-renew"))
		case *corev1.Pod:
			of("Pod", o, corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}, false)
		}
	}
	return list
}
