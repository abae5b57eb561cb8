package deploytest_test

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// A backup goes to a claim that stays, or to a bucket, with a Secret of its own; "helm test" restores the newest one
// without any credential of the bus.
func TestBackupsHaveTheirPlaceAndTheirCredential(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		values        string
		place         string
		claim, bucket bool
	}{
		"embedded": {everything, "/backup", true, false},
		"cluster":  {cluster, "s3://bus-backups/east/askbus/", false, true},
		"existing": {"backup: { enabled: true, claim: { existing: nfs } }", "/backup", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := render(t.Context(), "askbus", want.values)
			if err != nil {
				t.Fatal(err)
			}
			job := named[*batchv1.CronJob](&m, "askbus-backup")
			drill := named[*corev1.Pod](&m, "askbus-restore-drill")
			if job == nil || drill == nil || job.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
				t.Fatalf("no CronJob or no drill: %v %v", job, drill)
			}
			pod := job.Spec.JobTemplate.Spec.Template.Spec
			c := pod.Containers[0]
			if len(c.Args) < 4 || !slices.Equal(c.Args[:3], []string{"ledger", "backup", want.place}) || !strings.HasPrefix(c.Args[3], "--keep=") {
				t.Errorf("args %q", c.Args)
			}
			restore, check := drill.Spec.InitContainers[0], drill.Spec.Containers[0]
			if !slices.Equal(restore.Args[:3], []string{"ledger", "restore", want.place}) || !slices.Equal(check.Args[:2], []string{"ledger", "check"}) || restore.Args[3] != check.Args[2] {
				t.Errorf("the drill runs %q and then %q", restore.Args, check.Args)
			}
			if volume(pod, "creds") != "askbus-backup" || volume(drill.Spec, "creds") != "" {
				t.Errorf("credentials: the backup has %q, the drill %q", volume(pod, "creds"), volume(drill.Spec, "creds"))
			}
			for _, e := range slices.Concat(restore.Env, check.Env) {
				if strings.HasPrefix(e.Name, "ASKBUS_") {
					t.Errorf("the drill has %s", e.Name)
				}
			}
			if made := named[*corev1.PersistentVolumeClaim](&m, "askbus-backup"); (made != nil) != want.claim || made != nil && made.Annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("claim %v", made)
			}
			if (len(c.EnvFrom) == 1) != want.bucket || (volume(pod, "backup") == "") != want.bucket {
				t.Errorf("secrets of the bucket %v, volumes %v", c.EnvFrom, pod.Volumes)
			}
			if !want.bucket && !slices.ContainsFunc(restore.VolumeMounts, func(v corev1.VolumeMount) bool { return v.Name == "backup" && v.ReadOnly }) {
				t.Error("the drill may write to the backups")
			}
			for _, role := range all[*rbacv1.Role](&m) {
				if role.Name == "askbus-credentials" && !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, "askbus-backup") }) {
					t.Error("the Job of the credentials may not write that of backups")
				}
			}
		})
	}
	m, err := render(t.Context(), "askbus", cluster)
	if err != nil {
		t.Fatal(err)
	}
	if out := named[*networkingv1.NetworkPolicy](&m, "askbus-restore-drill").Spec.Egress; len(out) != 2 || out[1].To[0].IPBlock.CIDR != "10.9.0.0/16" {
		t.Errorf("the drill reaches %v", out)
	}
	rule := named[*prometheusRule](&m, "askbus-backup").Spec.Groups[0].Rules[0]
	if rule.Expr != `time() - max(kube_cronjob_status_last_successful_time{namespace="default",cronjob="askbus-backup"} or kube_cronjob_created{namespace="default",cronjob="askbus-backup"}) > 108000` {
		t.Errorf("the alert is %s", rule.Expr)
	}
	if m, err = render(t.Context(), "askbus", ""); err != nil || named[*batchv1.CronJob](&m, "askbus-backup") != nil {
		t.Errorf("backups without being asked for: %v", err)
	}
}

// volume returns the Secret or claim of a pod's volume.
func volume(pod corev1.PodSpec, name string) string {
	for _, v := range pod.Volumes {
		switch {
		case v.Name != name:
		case v.Secret != nil:
			return v.Secret.SecretName
		case v.PersistentVolumeClaim != nil:
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}
