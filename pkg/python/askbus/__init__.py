"""Asks a person from an agent, and waits for the answer as long as it takes. See Askbus."""

from ._client import Askbus, AsyncAskbus
from ._ends import Aborted, AskRef, Declined, End, Expired, NotAnswered, Other, Pending, Replied, Unfit, Withdrawn, require
from ._http import AskbusError
from ._webhook import WebhookEvent, webhook

__all__ = [
    "Aborted", "AskRef", "Askbus", "AskbusError", "AsyncAskbus", "Declined", "End", "Expired", "NotAnswered", "Other", "Pending", "Replied", "Unfit",
    "WebhookEvent", "Withdrawn", "require", "webhook",
]  # fmt: skip
