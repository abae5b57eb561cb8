// Command netpol translates the NetworkPolicies of a cluster into rules of iptables, for a lab whose
// network does not enforce them. It reads the objects from files that kubectl wrote, and prints a
// script for "iptables-restore --noflush" that is the same for every node; the chain FORWARD must
// jump to ASKBUS-NETPOL. hack/kube-netpol uses it.
//
//	kubectl get networkpolicies,pods,namespaces -o json | go -C tools/deploytest run ./netpol -apiserver 16443
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func main() {
	log.SetFlags(0)
	apiserver := flag.Int("apiserver", 6443, "port of the API server behind its Service, to which rules for 6443 apply")
	flag.Parse()
	c, err := read(os.Stdin)
	if err != nil {
		log.Fatal("netpol: ", err)
	}
	c.apiserver = *apiserver
	rules, err := c.rules()
	if err != nil {
		log.Fatal("netpol: ", err)
	}
	fmt.Print(rules)
}

// cluster is what decides who may connect to whom.
type cluster struct {
	policies   []networkingv1.NetworkPolicy
	pods       []corev1.Pod
	namespaces []corev1.Namespace
	apiserver  int
}

// read reads a list of objects of the three kinds.
func read(r io.Reader) (c cluster, err error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.NewDecoder(r).Decode(&list); err != nil {
		return c, err
	}
	for _, item := range list.Items {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(item, &meta); err != nil {
			return c, err
		}
		switch meta.Kind {
		case "NetworkPolicy":
			c.policies, err = add(c.policies, item)
		case "Pod":
			c.pods, err = add(c.pods, item)
		case "Namespace":
			c.namespaces, err = add(c.namespaces, item)
		default:
			err = fmt.Errorf("unexpected kind %q", meta.Kind)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func add[T any](all []T, item []byte) ([]T, error) {
	var one T
	err := json.Unmarshal(item, &one)
	return append(all, one), err
}

// rules returns the script. A pod that a policy selects may only do what one of its policies allows;
// replies pass; the kubelet's probes do not pass FORWARD, as Kubernetes demands.
func (c *cluster) rules() (string, error) {
	var chains, jumps, allowed []string
	for i := range c.pods {
		pod := &c.pods[i]
		if !onNetwork(pod) {
			continue
		}
		for _, way := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
			chain, match := fmt.Sprintf("ASKBUS-%c-%s", way[0], pod.Status.PodIP), "-d "
			if way == networkingv1.PolicyTypeEgress {
				match = "-s "
			}
			isolated := false
			for j := range c.policies {
				p := &c.policies[j]
				if p.Namespace != pod.Namespace || !slices.Contains(p.Spec.PolicyTypes, way) || !selects(&p.Spec.PodSelector, pod.Labels) {
					continue
				}
				isolated = true
				lines, err := c.allow(p, pod, way)
				if err != nil {
					return "", fmt.Errorf("policy %s: %w", p.Name, err)
				}
				for _, l := range lines {
					allowed = append(allowed, "-A "+chain+" "+l+" -j RETURN")
				}
			}
			if isolated {
				chains, jumps = append(chains, ":"+chain+" - [0:0]"), append(jumps, "-A ASKBUS-NETPOL "+match+pod.Status.PodIP+" -j "+chain)
				allowed = append(allowed, "-A "+chain+" -j DROP")
			}
		}
	}
	all := []string{"*filter", ":ASKBUS-NETPOL - [0:0]"}
	all = append(all, chains...)
	all = append(all, "-A ASKBUS-NETPOL -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN")
	all = append(append(append(all, jumps...), allowed...), "COMMIT", "")
	return strings.Join(all, "\n"), nil
}

func onNetwork(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && !pod.Spec.HostNetwork && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// allow returns the matches of what a policy lets a pod do in one direction.
func (c *cluster) allow(p *networkingv1.NetworkPolicy, pod *corev1.Pod, way networkingv1.PolicyType) (lines []string, err error) {
	one := func(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) error {
		who, err := c.peers(p.Namespace, peers)
		if err != nil {
			return err
		}
		for _, peer := range who {
			to, match := pod, "-s " // the pod whose ports a name means
			if way == networkingv1.PolicyTypeEgress {
				to, match = peer.pod, "-d "
			}
			matches, err := c.ports(to, ports)
			if err != nil {
				return err
			}
			for _, m := range matches {
				lines = append(lines, strings.TrimSpace(match+peer.address+" "+m))
			}
		}
		return nil
	}
	if way == networkingv1.PolicyTypeIngress {
		for _, r := range p.Spec.Ingress {
			if err := one(r.From, r.Ports); err != nil {
				return nil, err
			}
		}
		return lines, nil
	}
	for _, r := range p.Spec.Egress {
		if err := one(r.To, r.Ports); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// peer is the other side of a rule: a pod, or a network.
type peer struct {
	address string
	pod     *corev1.Pod
}

func (c *cluster) peers(namespace string, list []networkingv1.NetworkPolicyPeer) (all []peer, err error) {
	if len(list) == 0 {
		return []peer{{address: "0.0.0.0/0"}}, nil
	}
	for _, l := range list {
		if l.IPBlock != nil {
			if len(l.IPBlock.Except) > 0 {
				return nil, fmt.Errorf("ipBlock with except is not supported")
			}
			all = append(all, peer{address: l.IPBlock.CIDR})
			continue
		}
		for i := range c.pods {
			pod := &c.pods[i]
			if onNetwork(pod) && c.within(namespace, pod.Namespace, l.NamespaceSelector) && (l.PodSelector == nil || selects(l.PodSelector, pod.Labels)) {
				all = append(all, peer{pod.Status.PodIP, pod})
			}
		}
	}
	return all, nil
}

// within reports whether a peer's namespace is meant: the policy's own without a selector.
func (c *cluster) within(own, other string, s *metav1.LabelSelector) bool {
	if s == nil {
		return own == other
	}
	return slices.ContainsFunc(c.namespaces, func(n corev1.Namespace) bool { return n.Name == other && selects(s, n.Labels) })
}

// ports returns the matches of ports; a name means the port of a container of the pod.
func (c *cluster) ports(pod *corev1.Pod, list []networkingv1.NetworkPolicyPort) (all []string, err error) {
	if len(list) == 0 {
		return []string{""}, nil
	}
	for _, l := range list {
		protocol := "tcp"
		if l.Protocol != nil {
			protocol = strings.ToLower(string(*l.Protocol))
		}
		switch {
		case l.Port == nil:
			all = append(all, "-p "+protocol)
		case l.EndPort != nil:
			all = append(all, fmt.Sprintf("-p %s --dport %d:%d", protocol, l.Port.IntValue(), *l.EndPort))
		case l.Port.Type == intstr.Int:
			number := l.Port.IntValue()
			if number == 6443 {
				number = c.apiserver
			}
			all = append(all, fmt.Sprintf("-p %s --dport %d", protocol, number))
		case pod == nil:
			return nil, fmt.Errorf("the port %s is a name, and the peer is no pod", l.Port.StrVal)
		default:
			for _, container := range pod.Spec.Containers {
				for _, port := range container.Ports {
					if port.Name == l.Port.StrVal {
						all = append(all, fmt.Sprintf("-p %s --dport %d", protocol, port.ContainerPort))
					}
				}
			}
		}
	}
	return all, nil
}
