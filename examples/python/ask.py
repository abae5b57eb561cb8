#!/usr/bin/env python3
"""Asks a human with the standard library only, and waits through restarts of anything: docs/http.md explains the loop.

    ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_TOKEN=askb_… examples/python/ask.py
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid


def ask(ask_id, questions):
    """Asks, and returns the outcome. The same id again is the same ask, so every request may be repeated."""
    body = json.dumps({"id": ask_id, "questions": questions}).encode()
    headers = {"Authorization": "Bearer " + os.environ["ASKBUS_TOKEN"], "Content-Type": "application/json"}
    while True:
        request = urllib.request.Request(os.environ["ASKBUS_HTTP_URL"] + "/v1/asks?wait=25s", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                if response.status == 200:
                    return json.load(response)
                continue  # 202: nobody has answered yet
        except urllib.error.HTTPError as error:
            problem = error.read().decode()
            if error.code not in (408, 429, 502, 503, 504) or "nobody_there" in problem:
                raise SystemExit(problem) from error
        except (OSError, http.client.HTTPException):
            pass  # no response: the bus or the network is away
        time.sleep(1)


if __name__ == "__main__":
    question = {"id": "n", "kind": "number", "text": "How many replicas?", "limits": {"min": 1, "max": 9, "integer": True}}
    outcome = ask(sys.argv[1] if len(sys.argv) > 1 else str(uuid.uuid4()), [question])
    print(outcome["status"], json.dumps(outcome["answers"]))
