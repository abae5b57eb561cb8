#!/usr/bin/env python3
"""Asks a human with the standard library only.

    ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_TOKEN=askb_… examples/python/ask.py
"""

import json
import os
import sys
import urllib.error
import urllib.request
import uuid

BASE = os.environ["ASKBUS_HTTP_URL"].rstrip("/")
HEADERS = {"Authorization": "Bearer " + os.environ["ASKBUS_TOKEN"], "Content-Type": "application/json"}


def call(path, body=None):
    """Returns the status and the body; a refusal becomes an error with its sentence."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=660) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise SystemExit(f"{problem['status']} {problem['detail']} {problem.get('errors', '')}") from error


def ask(questions, ask_id=None):
    """Asks, and waits for as long as it takes. The same id again is the same ask."""
    ask_id = ask_id or str(uuid.uuid4())
    status, body = call("/v1/asks?wait=10m", {"id": ask_id, "questions": questions})
    while status == 202:
        status, body = call(f"/v1/asks/{body['session']}/{ask_id}?wait=10m")
    return body


if __name__ == "__main__":
    outcome = ask(
        [{"id": "n", "kind": "number", "text": "How many replicas?", "limits": {"min": 1, "max": 9, "integer": True}}],
        *sys.argv[1:2],
    )
    print(outcome["status"], json.dumps(outcome["answers"]))
