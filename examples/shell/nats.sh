#!/usr/bin/env bash
# Asks with one plain NATS request, and nothing but bash, jq, openssl and a credential. With the nats command line
# and a .creds file ("askbus auth agent --output text") it is
#
#   nats request --creds s1.creds --inbox-prefix "$inbox" --header Askbus-Wait:30s "$subject" "$event"
#
#   askbus auth agent --session s1 --output json | examples/shell/nats.sh
set -euo pipefail
cred=$(cat)
get() { jq -r ".$1" <<<"$cred"; }
inbox=$(get inbox_prefix)
IFS=. read -r _ _ tenant session <<<"$inbox"
id=${1:-nats-$(date +%s)}
subject="askv1.$tenant.$session.ask.$id"
event=$(jq -nc --arg id "$id" '{ specversion: "1.0", id: ("event-" + $id), source: "/examples/shell", type: "dev.askbus.ask.requested.v1",
  data: { id: $id, questions: [ { text: "Shall I go on?", options: [ { id: "yes", label: "Yes" }, { id: "no", label: "No" } ] } ] } }')
headers=$'NATS/1.0\r\nAskbus-Wait: 30s\r\n\r\n'

# The server's nonce is signed with the credential's key: a base32 seed, of which openssl wants the 32 bytes in DER.
between() { get creds | sed -n "/BEGIN $1/,/END $1/p" | sed '1d;$d' | tr -d '\r\n'; }
key=$(mktemp) && trap 'rm -f "$key" "$key.nonce"' EXIT
{ printf '\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20' && printf '%s======' "$(between 'USER NKEY SEED')" | base32 -d | tail -c +3 | head -c 32; } >"$key"
jwt=$(between 'NATS USER JWT')

address=$(get url)
address=${address#nats://}
exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
LC_ALL=C # lengths in bytes
read -r -u 3 _ info
jq -rj .nonce <<<"$info" >"$key.nonce"
sig=$(openssl pkeyutl -sign -rawin -in "$key.nonce" -inkey "$key" -keyform DER | base64 -w 0 | tr '+/' '-_' | tr -d '=')
printf 'CONNECT %s\r\n' "$(jq -nc --arg jwt "$jwt" --arg sig "$sig" '{ $jwt, $sig, verbose: false, headers: true, lang: "bash", version: "1" }')" >&3
printf 'SUB %s.%s 1\r\n' "$inbox" "$id" >&3
printf 'HPUB %s %s.%s %d %d\r\n%s%s\r\n' "$subject" "$inbox" "$id" "${#headers}" $((${#headers} + ${#event})) "$headers" "$event" >&3

while IFS= read -r line <&3; do
	case $line in
	PING*) printf 'PONG\r\n' >&3 ;;
	-ERR*) echo "$line" >&2 && exit 1 ;;
	*\"retry\":\"wait\"*) # still pending: wait on, 30 s at a time
		printf 'HPUB %s %s.%s %d %d\r\n%s\r\n' "${subject/.ask./.wait.}" "$inbox" "$id" "${#headers}" "${#headers}" "$headers" >&3 ;;
	*\"specversion\"*) # the outcome's event, in one line
		jq -r '.data | "\(.status // .state): \([.answers[]?.selected[]?] | join(", "))"' <<<"${line%$'\r'}"
		exit
		;;
	esac
done
