#!/usr/bin/env bash
# Asks with one plain NATS request, and nothing but bash, jq and a credential. With the nats command line it is
#
#   nats request --inbox-prefix "$inbox" --header Askbus-Wait:10m "$subject" "$event"
#
#   askbus creds agent --session s1 --output json | examples/shell/nats.sh
set -euo pipefail
cred=$(cat)
get() { jq -r ".$1" <<<"$cred"; }
inbox=$(get inbox_prefix)
IFS=. read -r _ _ tenant session <<<"$inbox"
id=${1:-nats-$(date +%s)}
subject="askv1.$tenant.$session.ask.$id"
event=$(jq -nc --arg id "$id" '{ specversion: "1.0", id: ("event-" + $id), source: "/examples/shell", type: "dev.askbus.ask.requested.v1",
  data: { id: $id, questions: [ { text: "Shall I go on?", options: [ { id: "yes", label: "Yes" }, { id: "no", label: "No" } ] } ] } }')
headers=$'NATS/1.0\r\nAskbus-Wait: 10m\r\n\r\n'

address=$(get url)
address=${address#nats://}
exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
LC_ALL=C # lengths in bytes
printf 'CONNECT %s\r\n' "$(jq -c '{ user, pass: .password, verbose: false, headers: true, lang: "bash", version: "1" }' <<<"$cred")" >&3
printf 'SUB %s.%s 1\r\n' "$inbox" "$id" >&3
printf 'HPUB %s %s.%s %d %d\r\n%s%s\r\n' "$subject" "$inbox" "$id" "${#headers}" $((${#headers} + ${#event})) "$headers" "$event" >&3

while IFS= read -r line <&3; do
	case $line in
	PING*) printf 'PONG\r\n' >&3 ;;
	-ERR*) echo "$line" >&2 && exit 1 ;;
	*\"specversion\"*) # the outcome's event, in one line
		jq -r '.data | "\(.status // .state): \([.answers[]?.selected[]?] | join(", "))"' <<<"${line%$'\r'}"
		exit
		;;
	esac
done
