#!/usr/bin/env bash
# Runs three servers in three network namespaces, and two brokers and the fault driver in a fourth, with faults of the
# network. Needs root, iproute2 and iptables. It changes nothing in the main namespace, and stops only processes that
# it started.
#
#   hack/netns-torture.sh            every fault once, with a heal after each; about three minutes
#   FAULTS="loss oneway" SEED=7 ROUNDS=2 ASKS=100000 hack/netns-torture.sh
#
# Faults: cut (a server from its peers; clients still reach it), isolate (from everything), oneway (its peers do not
# receive from it, it receives from them), loss (3 % of the packets it receives). Each hits every server in turn, and
# so every leader.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/ends

faults=${FAULTS:-cut isolate oneway loss}
seed=${SEED:-$RANDOM}
rounds=${ROUNDS:-1}
hold=${HOLD:-8}
calm=${CALM:-7}
pfx=${PFX:-askt$$}
nodes=(1 2 3)
dir=$(mktemp -d)
bin=${ASKBUS_TEST_BIN:-$dir/askbus}

ip4() { echo "10.99.0.1$1"; }
ns() { nsenter --net="/run/netns/$pfx-$1" "${@:2}"; }

# in_ns replaces the subshell by a command in a namespace. In a background subshell, $! is then that process, and it
# dies with this script even on SIGKILL.
in_ns() { exec setpriv --pdeathsig KILL nsenter --net="/run/netns/$pfx-$1" "${@:2}"; }

down() {
	end_children
	for n in "${nodes[@]}" sw; do ip netns del "$pfx-$n" 2>/dev/null || true; done
	[[ ${KEEP:-} ]] && echo "logs: $dir" || rm -rf "$dir"
}
trap down EXIT

for need in ip iptables nsenter setpriv pgrep; do
	command -v "$need" >/dev/null || { echo "netns: please install $need (iproute2, iptables, util-linux, procps)" >&2; exit 1; }
done
[[ -x $bin ]] || CGO_ENABLED=0 go build -o "$bin" ./cmd/askbus-lab

# Remove namespaces that a run left when it was killed by SIGKILL.
for left in $(ip netns list | grep -oE '^askt[0-9]+-(sw|[123])'); do
	pid=${left#askt}
	kill -0 "${pid%-*}" 2>/dev/null || ip netns del "$left"
done

# keep_broker runs a broker and restarts it when it exits.
keep_broker() {
	local child
	trap 'end_below $BASHPID; exit 0' TERM
	while kill -0 $$ 2>/dev/null; do # while this script runs
		(in_ns sw "$bin" broker --dir "$dir/n1" --nats-url "$url" --replicas 3 --retention 60s --margin 10s --ops-addr 127.0.0.1:0) &
		child=$!
		while kill -0 "$child" 2>/dev/null && kill -0 $$ 2>/dev/null; do run sleep 1; done
	done
	end_below $BASHPID
}

up() {
	ip netns add "$pfx-sw"
	ns sw ip link add br0 type bridge
	ns sw ip link set br0 up
	ns sw ip addr add 10.99.0.1/24 dev br0
	ns sw ip link set lo up
	local routes urls n
	routes=$(printf 'n%s=%s:6222,' 1 "$(ip4 1)" 2 "$(ip4 2)" 3 "$(ip4 3)")
	for n in "${nodes[@]}"; do
		ip netns add "$pfx-$n"
		ns sw ip link add "p$n" type veth peer name eth0 netns "$pfx-$n"
		ns sw ip link set "p$n" master br0 up
		ns "$n" ip link set lo up
		ns "$n" ip addr add "$(ip4 "$n")/24" dev eth0
		ns "$n" ip link set eth0 up
	done
	mkdir -p "$dir/n1"
	for n in "${nodes[@]}"; do
		(in_ns "$n" "$bin" server ${NODEFLAGS:-} --dir "$dir/n$n" --key-of "$dir/n1" --node "n$n" --nats-addr "$(ip4 "$n"):4222" --insecure \
			--cluster "${routes%,}" --ops-addr 127.0.0.1:0) >>"$dir/n$n.log" 2>&1 &
		while [[ $n == 1 && ! -s $dir/n1/auth/keys.json ]]; do sleep 0.1; done
	done
	urls=$(printf 'nats://%s:4222,' "$(ip4 1)" "$(ip4 2)" "$(ip4 3)")
	url=${urls%,}
	for n in 1 2; do
		keep_broker >>"$dir/broker$n.log" 2>&1 &
	done
	until grep -qs "broker on" "$dir/broker1.log" "$dir/broker2.log"; do sleep 0.5; done
}

# The faults. Their rules are in the namespace of the affected server.
drop() { ns "$1" iptables -w -I "$2" "$3" "$(ip4 "$4")" -j DROP; }
peers() { for p in "${nodes[@]}"; do [[ $p == "$1" ]] || echo "$p"; done; }
cut() { for p in $(peers "$1"); do drop "$1" INPUT -s "$p"; drop "$1" OUTPUT -d "$p"; done; }
oneway() { for p in $(peers "$1"); do drop "$1" OUTPUT -d "$p"; done; }
isolate() {
	ns "$1" iptables -w -I INPUT ! -i lo -j DROP
	ns "$1" iptables -w -I OUTPUT ! -o lo -j DROP
}
loss() { ns "$1" iptables -w -I INPUT ! -i lo -m statistic --mode random --probability 0.03 -j DROP; }
heal() { for n in "${nodes[@]}"; do ns "$n" iptables -w -F; done; }

up
"$bin" auth broker --dir "$dir/n1" --nats-url "$url" --output json >"$dir/admin.json"
count=$(wc -w <<<"$faults")
span=$((rounds * count * 3 * (hold + calm) + 25))
echo "netns: faults: $faults; $span s, seed $seed"
(in_ns sw "$bin" torture --nats-url "$url" --dir "$dir/n1" --admin-creds "$dir/admin.json" --disturbed --ends-within 60s \
	--learns-within 90s --retention 60s --margin 10s --asks "${ASKS:-1000000}" --open "${OPEN:-60}" --for "${span}s" --seed "$seed") &
torture=$!
run sleep 6
for _ in $(seq "$rounds"); do
	for fault in $faults; do
		for n in "${nodes[@]}"; do
			echo "netns: $(date +%T) $fault n$n"
			"$fault" "$n"
			run sleep "$hold"
			heal
			run sleep "$calm"
		done
	done
done
status=0
wait "$torture" || status=$?
exit $status
