#!/usr/bin/env bash
# Three servers in three network namespaces, two brokers and the fault driver in a fourth, and the faults that only a
# network has. Needs root, iproute2 and iptables; nothing is added to the main namespace, and only processes are ended
# that were started here.
#
#   hack/netns-torture.sh            every fault once, with a heal after each; about three minutes
#   FAULTS="loss oneway" SEED=7 ROUNDS=2 ASKS=100000 hack/netns-torture.sh
#
# Faults: cut (a server from its peers, clients still reach it), isolate (from everybody), oneway (its peers hear it no
# more, it hears them), loss (3 % of what it gets). Each hits every server in turn, so every leader among them.
set -euo pipefail
cd "$(dirname "$0")/.."

faults=${FAULTS:-cut isolate oneway loss}
seed=${SEED:-$RANDOM}
rounds=${ROUNDS:-1}
hold=${HOLD:-8}
calm=${CALM:-7}
pfx=${PFX:-askt$$}
nodes=(1 2 3)
dir=$(mktemp -d)
bin=${ASKBUS_TEST_BIN:-$dir/askbus}
pids=()

ip4() { echo "10.99.0.1$1"; }
ns() { nsenter --net="/run/netns/$pfx-$1" "${@:2}"; }

down() {
	for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	for n in "${nodes[@]}" sw; do ip netns del "$pfx-$n" 2>/dev/null || true; done
	[[ ${KEEP:-} ]] && echo "logs: $dir" || rm -rf "$dir"
}
trap down EXIT

for need in ip iptables nsenter; do
	command -v "$need" >/dev/null || { echo "netns: please install $need (iproute2, iptables, util-linux)" >&2; exit 1; }
done
[[ -x $bin ]] || CGO_ENABLED=0 go build -o "$bin" ./cmd/askbus

# keep_broker runs a broker, and starts it again when it ends.
keep_broker() {
	local child
	trap 'kill -KILL "$child" 2>/dev/null; exit 0' TERM
	while true; do
		ns sw "$bin" broker --dir "$dir/n1" --nats-url "$url" --replicas 3 --retention 60s --margin 10s --ops-addr 127.0.0.1:0 &
		child=$!
		wait "$child" || sleep 1
	done
}

up() {
	ip netns add "$pfx-sw"
	ns sw ip link add br0 type bridge
	ns sw ip link set br0 up
	ns sw ip addr add 10.99.0.1/24 dev br0
	ns sw ip link set lo up
	local routes urls n
	routes=$(printf '%s:6222,' "$(ip4 1)" "$(ip4 2)" "$(ip4 3)")
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
		ns "$n" "$bin" torture node ${NODEFLAGS:-} --dir "$dir/n$n" --key-of "$dir/n1" --node "n$n" --nats-addr "$(ip4 "$n"):4222" \
			--cluster-addr "$(ip4 "$n"):6222" --routes "${routes%,}" >>"$dir/n$n.log" 2>&1 &
		pids+=($!)
		while [[ $n == 1 && ! -s $dir/n1/key ]]; do sleep 0.1; done
	done
	urls=$(printf 'nats://%s:4222,' "$(ip4 1)" "$(ip4 2)" "$(ip4 3)")
	url=${urls%,}
	for n in 1 2; do
		keep_broker "$n" >>"$dir/broker$n.log" 2>&1 &
		pids+=($!)
	done
	until grep -qs "broker on" "$dir/broker1.log" "$dir/broker2.log"; do sleep 0.5; done
}

# The faults. Rules go into the namespace of the server that is hit.
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
"$bin" creds broker --dir "$dir/n1" --nats-url "$url" --output json >"$dir/admin.json"
count=$(wc -w <<<"$faults")
span=$((rounds * count * 3 * (hold + calm) + 25))
echo "netns: faults: $faults; $span s, seed $seed"
ns sw "$bin" torture --nats-url "$url" --dir "$dir/n1" --admin-creds "$dir/admin.json" --disturbed --ends-within 60s \
	--learns-within 90s --retention 60s --margin 10s --asks "${ASKS:-1000000}" --open "${OPEN:-60}" --for "${span}s" --seed "$seed" &
torture=$!
sleep 6
for _ in $(seq "$rounds"); do
	for fault in $faults; do
		for n in "${nodes[@]}"; do
			echo "netns: $(date +%T) $fault n$n"
			"$fault" "$n"
			sleep "$hold"
			heal
			sleep "$calm"
		done
	done
done
status=0
wait "$torture" || status=$?
exit $status
