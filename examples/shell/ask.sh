#!/usr/bin/env bash
# Asks a human with curl, and waits for the answer, however long it takes.
#
#   ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_TOKEN=askb_… examples/shell/ask.sh
#
# The id makes it safe to run again: the same id is the same ask, even after a crash or a reboot.
set -euo pipefail
: "${ASKBUS_HTTP_URL:?where askbus is, such as http://127.0.0.1:8420}" "${ASKBUS_TOKEN:?a token; askbus token issue --role agent makes one}"
id=${1:-deploy-$(date +%s)}

call() { curl --silent --show-error --fail-with-body --header "Authorization: Bearer $ASKBUS_TOKEN" "$@"; }

asked=$(call "$ASKBUS_HTTP_URL/v1/asks" --json '{
  "id": "'"$id"'",
  "title": "Deploy to production",
  "questions": [ { "id": "go", "text": "Deploy now?", "options": [
    { "id": "yes", "label": "Deploy", "recommended": true }, { "id": "no", "label": "Wait until tomorrow" } ] } ]
}')
session=$(jq -r .session <<<"$asked")
echo "waiting for a human: $session/$id" >&2

while true; do
	# 200 is the outcome; 202 says that it still waits, and then we wait on.
	answer=$(call "$ASKBUS_HTTP_URL/v1/asks/$session/$id?wait=5m" --write-out '\n%{http_code}')
	if [[ ${answer##*$'\n'} == 200 ]]; then
		jq -r '"\(.status): \([.answers[] | (.selected // []) + [.other // empty] | .[]] | join(", "))"' <<<"${answer%$'\n'*}"
		exit
	fi
done
