"""A Pydantic model is asked field by field and comes back filled, or is unfit. With the argument v1, by version 1, which
version 2 brings along."""

import datetime
import enum
import json
import sys
from typing import List, Literal, Optional

import pydantic

if "v1" in sys.argv and pydantic.VERSION >= "2":
    from pydantic import v1 as pydantic

from askbus import Unfit
from askbus.testing import FakeAskbus


class Database(enum.Enum):
    PG = "PostgreSQL"
    LITE = "SQLite"


class Plan(pydantic.BaseModel):
    db: Database = pydantic.Field(description="Which database?")
    replicas: int = pydantic.Field(ge=1, le=9)
    share: float
    day: datetime.date
    tags: List[Literal["blue", "green"]] = []
    note: Optional[str] = pydantic.Field(default=None, max_length=20)
    port: int = 5432


class Even(pydantic.BaseModel):
    number: pydantic.conint(multiple_of=2)


rules = [{"question": "db", "say": "sqlite"}, {"question": "replicas", "say": "3"}, {"question": "share", "say": "1"}]
rules += [{"question": "day", "say": "2026-12-01"}, {"question": "tags", "say": "blue, green"}, {"question": "number", "say": "3"}, {"say": ""}]
bus = FakeAskbus(rules)
plan = bus.ask(Plan, id="plan-7")
assert isinstance(plan, Plan), plan
print(plan.db, plan.replicas, plan.share, plan.day, plan.tags, plan.note, plan.port)
assert bus.wait("plan-7", Plan) == plan
for q in bus.asked[0]["questions"]:
    print(json.dumps([q["id"], q["kind"], q["text"], q.get("required", True), q.get("limits"), q.get("default")]))
end = bus.ask(Even)
print(type(end).__name__, end.value, isinstance(end, Unfit) and isinstance(end.error, pydantic.ValidationError), bool(end))
