"""The types of the package, as a program sees them. pyright checks it, strictly; it is not run."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, assert_type

from askbus import Askbus, AskbusError, AskRef, Declined, End, Expired, Other, require, webhook
from askbus.claude import can_use_tool
from askbus.langgraph import adecisions, decisions
from askbus.openai_agents import decide
from askbus.testing import FakeAskbus


class Database(Enum):
    PG = "PostgreSQL"
    LITE = "SQLite"


@dataclass
class Plan:
    db: Database
    replicas: int


bus: Askbus = FakeAskbus([{"say": "yes"}])
labels = {"pg": "PostgreSQL", "lite": "SQLite"}
assert_type(bus.choose("Which?", labels), str | End)
assert_type(bus.choose("Which?", {"pg": "PostgreSQL", "lite": {"label": "SQLite"}}, multiple=True), list[str] | End)
assert_type(bus.choose("Which?", Database, timeout="2h", priority="high"), Database | End)
assert_type(bus.choose("Which?", Database, multiple=True, min=1), list[Database] | End)
assert_type(bus.choose("Which?", Database, other=True), Database | Other | End)
assert_type(bus.choose("Which?", labels, multiple=True, other=True), list[str | Other] | End)
assert_type(bus.choose("Which?", labels, required=False), str | Other | list[str | Other] | None | End)
assert_type(bus.confirm("Go?", default=True, at_deadline="default"), bool | End)
assert_type(bus.text("Name?", max_length=20), str | End)
assert_type(bus.text("Name?", required=False), str | None | End)
assert_type(bus.number("How much?", min=0.5), float | End)
assert_type(bus.number("How many?", integer=True), int | End)
assert_type(bus.date("When?", min=date(2026, 1, 1), max="2026-12-31"), date | End)
assert_type(bus.ask({"questions": [{"text": "Go?"}]}), dict[str, Any] | End)
assert_type(bus.wait("plan", Plan, wait="30s"), Plan | End)
assert_type(bus.upload("shot.png"), dict[str, Any])
assert_type([ask["ask_id"] for ask in bus.list("pending")], list[Any])
assert_type(require(bus.confirm("Go?")), bool)
assert_type(require(bus.ask(Plan)), Plan)
assert_type(webhook({}, b"", "whsec_").id, str)

if plan := bus.ask(Plan, id="plan", wait=0):  # an end is false
    assert_type(plan, Plan)
match bus.ask(Plan):
    case Plan(db=db):
        assert_type(db, Database)
    case Expired(ask=ask) | Declined(ask=ask):
        assert_type(ask, AskRef)
    case End() as end:
        assert_type(end.outcome, dict[str, Any])
try:
    bus.get("plan")
except AskbusError as error:
    assert_type(error.errors, list[dict[str, Any]])

bus.confirm("Go?", priority="soon")  # pyright: ignore[reportCallIssue, reportArgumentType] no such priority
bus.confirm("Go?", max_length=3)  # pyright: ignore[reportCallIssue] of a text alone
bus.choose("Which?", ["pg", "lite"])  # pyright: ignore[reportCallIssue, reportArgumentType] labels by id


async def waiting() -> None:
    async with bus.aio() as aio:
        aio.on_cancel = "withdraw"
        assert_type(await aio.choose("Which?", Database), Database | End)
        assert_type(await aio.confirm("Go?"), bool | End)
        assert_type(await aio.number("How many?", integer=True), int | End)
        assert_type(await aio.ask(Plan), Plan | End)
        assert_type(await aio.list(), list[dict[str, Any]])
    assert_type(await adecisions([], bus), Any)


callback: Callable[[str, dict[str, Any], Any], Awaitable[Any]] = can_use_tool(bus)
print(decisions, decide)
