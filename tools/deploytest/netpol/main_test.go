package main

import (
	"strings"
	"testing"
)

const objects = `{"items": [
  {"kind": "Namespace", "metadata": {"name": "bus"}}, {"kind": "Namespace", "metadata": {"name": "ci", "labels": {"agents": "true"}}},
  {"kind": "Pod", "metadata": {"name": "nats", "namespace": "bus", "labels": {"role": "server"}}, "spec": {"containers": [{"ports": [{"name": "nats", "containerPort": 4280}]}]}, "status": {"podIP": "10.0.0.1"}},
  {"kind": "Pod", "metadata": {"name": "broker", "namespace": "bus", "labels": {"role": "broker"}}, "status": {"podIP": "10.0.0.2"}},
  {"kind": "Pod", "metadata": {"name": "agent", "namespace": "ci"}, "status": {"podIP": "10.0.0.3"}},
  {"kind": "Pod", "metadata": {"name": "stranger", "namespace": "bus"}, "status": {"podIP": "10.0.0.4"}},
  {"kind": "Pod", "metadata": {"name": "ended", "namespace": "ci"}, "status": {"podIP": "10.0.0.5", "phase": "Succeeded"}},
  {"kind": "NetworkPolicy", "metadata": {"name": "server", "namespace": "bus"}, "spec": {"podSelector": {"matchLabels": {"role": "server"}}, "policyTypes": ["Ingress", "Egress"],
    "ingress": [{"from": [{"podSelector": {"matchLabels": {"role": "broker"}}}, {"namespaceSelector": {"matchLabels": {"agents": "true"}}}], "ports": [{"port": "nats"}]}]}},
  {"kind": "NetworkPolicy", "metadata": {"name": "broker", "namespace": "bus"}, "spec": {"podSelector": {"matchLabels": {"role": "broker"}}, "policyTypes": ["Egress"],
    "egress": [{"ports": [{"port": 53, "protocol": "UDP"}]}, {"to": [{"podSelector": {"matchLabels": {"role": "server"}}}], "ports": [{"port": "nats"}]}, {"ports": [{"port": 6443}]}, {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}]}}
]}`

func TestRulesAreWhatThePoliciesSay(t *testing.T) {
	t.Parallel()
	c, err := read(strings.NewReader(objects))
	if err != nil {
		t.Fatal(err)
	}
	c.apiserver = 16443
	got, err := c.rules()
	if err != nil {
		t.Fatal(err)
	}
	const want = `*filter
:ASKBUS-NETPOL - [0:0]
:ASKBUS-I-10.0.0.1 - [0:0]
:ASKBUS-E-10.0.0.1 - [0:0]
:ASKBUS-E-10.0.0.2 - [0:0]
-A ASKBUS-NETPOL -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
-A ASKBUS-NETPOL -d 10.0.0.1 -j ASKBUS-I-10.0.0.1
-A ASKBUS-NETPOL -s 10.0.0.1 -j ASKBUS-E-10.0.0.1
-A ASKBUS-NETPOL -s 10.0.0.2 -j ASKBUS-E-10.0.0.2
-A ASKBUS-I-10.0.0.1 -s 10.0.0.2 -p tcp --dport 4280 -j RETURN
-A ASKBUS-I-10.0.0.1 -s 10.0.0.3 -p tcp --dport 4280 -j RETURN
-A ASKBUS-I-10.0.0.1 -j DROP
-A ASKBUS-E-10.0.0.1 -j DROP
-A ASKBUS-E-10.0.0.2 -d 0.0.0.0/0 -p udp --dport 53 -j RETURN
-A ASKBUS-E-10.0.0.2 -d 10.0.0.1 -p tcp --dport 4280 -j RETURN
-A ASKBUS-E-10.0.0.2 -d 0.0.0.0/0 -p tcp --dport 16443 -j RETURN
-A ASKBUS-E-10.0.0.2 -d 192.0.2.0/24 -j RETURN
-A ASKBUS-E-10.0.0.2 -j DROP
COMMIT
`
	if got != want {
		t.Errorf("%s", got)
	}
}
