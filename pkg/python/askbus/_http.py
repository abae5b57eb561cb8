"""The requests to the bus, and when they are sent again."""

import http.client
import json
import random
import threading
import time
import urllib.parse
import urllib.request
from typing import Any

ANSWER_LIMIT = 15  # seconds in which a request is answered, beside the time for which it is held
PATIENCE = 30  # seconds for which an unreachable bus is tried again
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5


class AskbusError(Exception):
    """A refusal by the bus, or that it could not be reached (code "unavailable", status 0).

    code is such as "invalid", "forbidden", "not_found", "id_reused" or "nobody_there"; errors has every fault with its
    JSON pointer into the ask; outcome is the one that counts, when the ask had ended otherwise.
    """

    def __init__(self, detail: str, status: int = 0, code: str = "unavailable", errors: list[dict[str, Any]] | tuple[()] = (), outcome: dict[str, Any] | None = None, **_: object):
        faults = [f"{e['pointer']}: {e['detail']}" if e.get("pointer") else e["detail"] for e in errors if e.get("pointer") or e["detail"] != detail]
        super().__init__(f"{detail}: {'; '.join(faults)}" if faults else detail)
        self.status: int = status
        self.code: str = code
        self.errors: list[dict[str, Any]] = list(errors)
        self.outcome: dict[str, Any] | None = outcome


# Without the handlers of errors and of redirects: a POST would become a GET, and another address would get the token.
_opener = urllib.request.OpenerDirector()
for _handler in (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    _opener.add_handler(_handler())


def over_network(method, url, headers, body, timeout):
    """Sends one request; returns the status, the headers and the body."""
    with _opener.open(urllib.request.Request(url, body, headers, method=method), timeout=timeout) as response:
        return response.status, response.headers, response.read()


class Http:
    def __init__(self, base, token, transport=over_network):
        if not base.startswith(("http://", "https://")):
            raise ValueError(f"invalid address {base!r}: use one such as http://127.0.0.1:8420")
        self.base, self.token, self.transport = base.rstrip("/"), token, transport

    def call(self, method, path, query=None, body=None, key=None, stop=None, patience=PATIENCE, hold=0, raw=False):
        """Sends a request and returns its status and body, which is bytes if raw. A body of bytes is a file.

        It is sent again while the bus is away: after no response, 408, 429, 502, 503 and 504, for at most patience
        seconds. Every request of this package may be repeated. 503 with nobody_there is an answer: nobody is at a screen.
        """
        stop = stop or threading.Event()
        given = urllib.parse.urlencode({k: v for k, v in (query or {}).items() if v is not None})
        url = self.base + path + ("?" + given if given else "")
        headers = {"Authorization": "Bearer " + self.token, "Accept": "application/json"}
        headers |= ({} if body is None else {"Content-Type": "application/octet-stream" if isinstance(body, bytes) else "application/json"}) | ({} if key is None else {"Idempotency-Key": key})
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        until, pause = time.monotonic() + patience, FIRST_PAUSE
        while True:
            if stop.is_set():
                raise AskbusError("the caller no longer waits")
            try:
                status, given_headers, text = self.transport(method, url, headers, data, hold + ANSWER_LIMIT)
                failure, reply = (None, text) if raw and status == 200 else _read(status, text, given_headers.get("Location"))
                if failure is None:
                    return status, reply
                if status not in (408, 429, 502, 503, 504) or failure.code == "nobody_there":
                    raise failure
                seconds = str(given_headers.get("Retry-After") or "0")
                after = min(float(seconds), LONGEST_PAUSE) if seconds.isdecimal() else 0.0
            except (OSError, http.client.HTTPException) as error:
                failure, after = AskbusError(f"the bus at {self.base} does not answer: {error}"), 0.0
                failure.__cause__ = error
            wait = max(after, pause * random.uniform(0.75, 1.25))
            if time.monotonic() + wait > until:
                raise failure
            stop.wait(wait)
            pause = min(2 * pause, LONGEST_PAUSE)


def _read(status, text, to=None):
    """The failure that a response means, or its JSON."""
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if 200 <= status < 300 and reply is not None:
        return None, reply
    if isinstance(reply, dict) and isinstance(reply.get("detail"), str):
        return AskbusError(**{**reply, "status": status}), None
    return AskbusError(f"the response is not of askbus: {status}{f' to {to}' if to else ''}", status, "unavailable" if status >= 400 else "internal"), None
