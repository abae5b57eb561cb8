#!/usr/bin/env python3
"""Exchanges a token for a NATS credential of one session, with the standard library only.

    ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_EXCHANGE_TOKEN_FILE=/var/run/secrets/askbus/token examples/python/exchange.py agent.creds [SESSION]

The token is that of a Kubernetes service account, of an OIDC issuer, or an API token. The file that is written works with any NATS
client (with the inbox prefix that is printed). Exchange it again before it expires.
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def swap(base, token, session=None):
    """Returns the credential; a refusal becomes an error with its sentence."""
    query = "?" + urllib.parse.urlencode({"session": session}) if session else ""
    request = urllib.request.Request(base.rstrip("/") + "/v1/credentials" + query, method="POST", headers={"Authorization": "Bearer " + token})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise SystemExit(f"{problem['status']} {problem['detail']} {problem.get('errors', '')}") from error


if __name__ == "__main__":
    with open(os.environ["ASKBUS_EXCHANGE_TOKEN_FILE"], encoding="utf-8") as file:
        credential = swap(os.environ["ASKBUS_HTTP_URL"], file.read().strip(), *sys.argv[2:3])
    with open(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(credential["creds"])
    print(json.dumps({name: credential.get(name) for name in ("url", "name", "inbox_prefix", "expires")}))
