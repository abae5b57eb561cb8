// Custommetrics is an adapter of custom metrics for a test cluster, which
// has none: it answers the Kubernetes API custom.metrics.k8s.io with metrics that
// askbus's pods serve at their ops address, one value for each pod, as the HorizontalPodAutoscaler reads
// them. hack/kube-held runs it; a deployment uses prometheus-adapter or KEDA.
//
//	custommetrics ADDRESS KUBECTL…
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// metrics are what the chart's autoscalers ask for.
var metrics = []string{"askbus_held_requests", "askbus_http_open_requests"} //nolint:gochecknoglobals // a constant list

const root = "/apis/custom.metrics.k8s.io/v1beta2"

type object = map[string]any

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: custommetrics ADDRESS KUBECTL…")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root, func(w http.ResponseWriter, _ *http.Request) {
		var list []object
		for _, name := range metrics {
			list = append(list, object{"name": "pods/" + name, "namespaced": true, "kind": "MetricValueList", "verbs": []string{"get"}})
		}
		reply(w, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "custom.metrics.k8s.io/v1beta2", "resources": list})
	})
	mux.HandleFunc("GET "+root+"/namespaces/{ns}/pods/{pod}/{metric}", func(w http.ResponseWriter, r *http.Request) {
		items, err := values(r.PathValue("ns"), r.URL.Query().Get("labelSelector"), r.PathValue("metric"))
		if err != nil {
			log.Print(err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		reply(w, object{"kind": "MetricValueList", "apiVersion": "custom.metrics.k8s.io/v1beta2", "metadata": object{}, "items": items})
	})
	cert, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{Addr: os.Args[1], Handler: mux, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
	log.Fatal(srv.ListenAndServeTLS("", ""))
}

func reply(w http.ResponseWriter, v object) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print(err)
	}
}

// values reads a metric of each ready pod.
func values(ns, selector, metric string) ([]object, error) {
	out, err := kubectl("--namespace", ns, "get", "pods", "--selector", selector, "--field-selector", "status.phase=Running", "--output", "name")
	if err != nil {
		return nil, err
	}
	items := []object{}
	for pod := range strings.FieldsSeq(out) {
		name := strings.TrimPrefix(pod, "pod/")
		text, err := kubectl("get", "--raw", "/api/v1/namespaces/"+ns+"/pods/"+name+":8421/proxy/metrics")
		if err != nil {
			continue // it starts or stops
		}
		items = append(items, object{
			"describedObject": object{"kind": "Pod", "namespace": ns, "name": name, "apiVersion": "/v1"},
			"metric":          object{"name": metric}, "timestamp": time.Now().UTC().Format(time.RFC3339), "value": strconv.FormatInt(int64(sum(text, metric)), 10),
		})
	}
	return items, nil
}

func kubectl(args ...string) (string, error) {
	all := append(append([]string{}, os.Args[3:]...), args...)
	out, err := exec.Command(os.Args[2], all...).Output() //nolint:gosec,noctx // its user names the command; it ends with this process
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// sum adds the series of a metric.
func sum(text, metric string) (total float64) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(name, "{"); !ok || base != metric {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			total += v
		}
	}
	return total
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(48 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
