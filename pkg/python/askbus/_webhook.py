"""Verifies what the bus sends to a program: Standard Webhooks 1.0.0."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._http import AskbusError


@dataclass(frozen=True)
class WebhookEvent:
    """id is the same for every repetition: what was handled already may be skipped. sent is in seconds since 1970."""

    id: str
    sent: int
    data: Any


def webhook(headers: Mapping[str, str], body: bytes | str, secret: str | list[str], *, tolerance: float = 300, now: float | None = None) -> WebhookEvent:
    """Verifies the signature of a request and returns what it says.

    body is what arrived, byte for byte. A secret is "whsec_" and base64; while one is replaced, give both in a list. A wrong
    signature, and a time more than tolerance seconds away, raises AskbusError with the code "forbidden".
    """
    given = {name.lower(): value for name, value in headers.items()}
    if missing := [n for n in ("webhook-id", "webhook-timestamp", "webhook-signature") if not given.get(n)]:
        raise AskbusError(f"the request has no header {missing[0]}", 401, "forbidden")
    id, sent = given["webhook-id"], given["webhook-timestamp"]
    if not (sent.isascii() and sent.isdecimal() and len(sent) <= 12) or abs((time.time() if now is None else now) - int(sent)) > tolerance:
        raise AskbusError(f"the request is of another time: {sent}", 401, "forbidden")
    body = body.encode() if isinstance(body, str) else body
    for one in [secret] if isinstance(secret, str) else secret:
        digest = hmac.new(_key(one), f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
        for part in given["webhook-signature"].split(" "):
            if hmac.compare_digest(part.encode(), b"v1," + base64.b64encode(digest)):
                return WebhookEvent(id, int(sent), json.loads(body))
    raise AskbusError("the signature is not of this secret and this body", 401, "forbidden")


def _key(secret):
    try:
        if key := secret.startswith("whsec_") and base64.b64decode(secret[6:], validate=True):
            return key
    except binascii.Error:
        pass
    raise ValueError('the secret of a webhook is "whsec_" and base64')
