"""How an ask ends, when nobody gave the answer that was asked for. Each is a value and no exception, and is false."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class AskRef:
    """Where an ask is: enough to wait for it or withdraw it later, in another process."""

    session: str
    id: str
    tenant: str | None = None


@dataclass(frozen=True)
class End:
    """The ask ended without the answer. outcome is the whole one, as the bus has it."""

    ask: AskRef
    reason: str = ""
    outcome: dict[str, Any] = field(default_factory=dict, repr=False)

    def __bool__(self) -> Literal[False]:
        return False


class Declined(End):
    """Somebody declined, with a reason or by an option that ends the ask."""

    @property
    def option(self) -> str | None:
        return self.outcome.get("cancelled_by", {}).get("option_id")


class Withdrawn(End):
    """The agent took it back."""


class Aborted(End):
    """An operator or the system ended it."""


class Pending(End):
    """It is not over: the time of wait= has passed."""


@dataclass(frozen=True)
class Expired(End):
    """Nobody answered in time. value is set only with at_deadline="default": the defaults, which nobody has seen."""

    value: Any = None


@dataclass(frozen=True)
class Replied(End):
    """Somebody wrote one reply to the whole ask instead of answering its questions."""

    response: str = ""


@dataclass(frozen=True)
class Unfit(End):
    """Somebody answered, and the dataclass or model does not accept it; error says why."""

    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Other:
    """What somebody wrote instead of choosing."""

    text: str


class NotAnswered(Exception):
    """What require raises; end says how the ask ended."""

    def __init__(self, end: End):
        why = end.reason or getattr(end, "response", "") or getattr(end, "error", None) or ""
        super().__init__(f"ask {end.ask.id} is {type(end).__name__.lower()}" + (f": {why}" if why else ""))
        self.end: End = end


def require(result: T | End) -> T:
    """Returns the answer, and raises NotAnswered for every end without one."""
    if isinstance(result, End):
        raise NotAnswered(result)
    return result
