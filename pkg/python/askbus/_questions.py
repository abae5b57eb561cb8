"""What an agent may ask, as the protocol's JSON, and how the answers become Python values."""

import dataclasses
import datetime
import enum
import re
import types
import typing

from ._ends import Other

ONLY = "answer"  # the id of the only question of choose, confirm, text, number and date
ENVELOPE = {
    "title", "context", "agent", "priority", "audience", "min_proof", "asker", "exclude_asker", "only", "exclude", "approval", "require_responder", "while_waiting", "callback", "timeout",
    "deadline", "at_deadline", "metadata", "escalate", "escalate_repeat", "escalate_hours", "files",
}  # fmt: skip
FIELDS = {
    "choice": ("multiple", "other", "min", "max"), "boolean": (), "date": ("min", "max", "message"), "number": ("min", "max", "integer", "message"),
    "text": ("min_length", "max_length", "pattern", "message"),
}  # fmt: skip


def pruned(**fields):
    return {name: value for name, value in fields.items() if value is not None}


def question(id, text, kind, default=None, min=None, max=None, integer=None, min_length=None, max_length=None, pattern=None, message=None, **more):
    """A question in the protocol's JSON."""
    limits = pruned(min=plain(min), max=plain(max), integer=integer, min_length=min_length, max_length=max_length, pattern=pattern, message=message)
    return pruned(id=id, kind=kind, text=text, default=plain(default), limits=limits or None, **more)


def single(kind, text, more, given=None):
    """The only question of an ask, the values that its options mean, and what of more is not the question's."""
    names = {"default", "header", "required", "placeholder", *FIELDS[kind]}
    own, rest = {k: v for k, v in more.items() if k in names}, {k: v for k, v in more.items() if k not in names}
    meanings = {}
    if kind == "choice":
        own["options"], meanings = options(given)
        own["allow_other"] = own.pop("other", False)
        own["min_items"], own["max_items"] = own.pop("min", None), own.pop("max", None)
        if own.get("default") is not None:
            own["default"] = [plain(d) for d in (own["default"] if isinstance(own["default"], (list, tuple)) else [own["default"]])]
    return question(ONLY, text, kind, **own), meanings, rest


def options(given):
    """The options of a question, and the values that they mean by their ids."""
    if isinstance(given, type) and issubclass(given, enum.Enum):
        return [{"id": m.name, "label": m.value if isinstance(m.value, str) else m.name} for m in given], {m.name: m for m in given}
    if not isinstance(given, dict):
        raise TypeError(f'options is {given!r}; give labels by id, such as {{"pg": "PostgreSQL"}}, or an Enum')
    return [{"id": i, **({"label": o} if isinstance(o, str) else o)} for i, o in given.items()], {}


def envelope(ask):
    """What an ask says beside its questions, in the protocol's JSON."""
    if unknown := set(ask) - ENVELOPE:
        raise TypeError(f"unknown: {', '.join(sorted(unknown))}; an ask has {', '.join(sorted(ENVELOPE))}")
    ask = pruned(**ask)
    if "timeout" in ask:
        ask["timeout"] = duration(ask["timeout"])
    if isinstance(ask.get("deadline"), datetime.datetime):
        ask["deadline"] = ask["deadline"].astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return ask


def duration(given):
    """A duration as the bus reads it: of seconds, a timedelta, or a text such as "90s", "30m", "2h" or "1d"."""
    given = given.total_seconds() if isinstance(given, datetime.timedelta) else given
    if isinstance(given, (int, float)):
        return f"{round(given * 1000)}ms"
    return re.sub(r"^(\d+(?:\.\d+)?)d", lambda m: f"{float(m[1]) * 24:g}h", given)


def seconds(given):
    """A duration in seconds."""
    text, units = duration(given), {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if "".join(n + unit for n, unit in parts) != text or not text:
        raise ValueError(f'{given!r} is no duration; give seconds, or a duration such as "30s", "5m" or "1d"')
    return sum(float(n) * units[unit] for n, unit in parts)


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.name
    return value.isoformat() if isinstance(value, datetime.date) else value


def value(q, answer, meanings=None):
    """The Python value of an answer, or None if the question was left out."""
    if answer.get("skipped"):
        return None
    if q.get("options"):
        chosen = [(meanings or {}).get(i, i) for i in answer.get("selected", [])]
        chosen += [Other(answer["other"])] if answer.get("other") else []
        return chosen if q.get("multiple") else next(iter(chosen), None)
    if "date" in answer:
        return datetime.date.fromisoformat(answer["date"])
    return next((answer[field] for field in ("text", "number", "boolean") if field in answer), None)


class Form:
    """The questions of a dataclass or of a Pydantic model, and how it is filled."""

    def __init__(self, cls):
        self.cls = cls
        self.meanings, self.floats, self.defaults, self.questions = {}, set(), set(), []
        hints = typing.get_type_hints(cls, include_extras=True)
        for name, required, default, limits, text in _fields(cls):
            self.defaults |= set() if required else {name}
            self._add(name, hints[name], required, default, limits, text)

    def _add(self, name, hint, required, default, limits, text):
        if typing.get_origin(hint) is typing.Annotated:
            hint, *notes = typing.get_args(hint)
            text = text or next((note for note in notes if isinstance(note, str)), None)
        args = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if typing.get_origin(hint) in (typing.Union, types.UnionType) and len(args) == 1:
            hint, required = args[0], False
        several = typing.get_origin(hint) in (list, set, frozenset, tuple)
        one = typing.get_args(hint)[0] if several else hint
        more = {} if required else {"required": False}
        if isinstance(one, type) and issubclass(one, enum.Enum):
            more["options"], self.meanings[name] = options(one)
        elif typing.get_origin(one) is typing.Literal:
            values = typing.get_args(one)
            ids = [str(v) if re.fullmatch(r"[^\x00-\x20\x7f]{1,128}", str(v)) else f"o{i + 1}" for i, v in enumerate(values)]
            more["options"] = [{"id": i, "label": str(v)} for i, v in zip(ids, values)]
            self.meanings[name] = dict(zip(ids, values))
        kinds = {bool: "boolean", int: "number", float: "number", str: "text", datetime.date: "date"}
        if isinstance(one, type) and one not in kinds:  # such as Pydantic's conint
            one = next((base for base in (int, float, str) if issubclass(one, base) and "options" not in more), one)
        kind = "choice" if "options" in more else None if several else kinds.get(one)
        if kind is None:
            raise TypeError(f"{self.cls.__name__}.{name} is {hint}; give bool, int, float, str, date, an Enum, a Literal, or a list of one of the last two")
        self.floats |= {name} if one is float else set()
        limits |= {"integer": True} if one is int else {}
        if kind == "choice":
            more |= {"allow_other": False} | ({"multiple": True} if several else {})
            ids = {v: i for i, v in self.meanings[name].items()}
            default = None if default is None else [ids[v] for v in (default if several else [default])] or None
            limits = {}
        self.questions.append(question(name, text or name.replace("_", " ").capitalize() + "?", kind, default, **limits, **more))

    def fill(self, answers):
        """Makes the object. What was left out has its default, else None; what the class refuses raises its error."""
        values = {}
        fields = {q["id"]: q for q in self.questions}
        for answer in answers:
            name = answer["question_id"]
            given = value(fields[name], answer, self.meanings.get(name))
            if not answer.get("skipped") or name not in self.defaults:
                values[name] = float(given) if name in self.floats and given is not None else given
        return self.cls(**values)


def _fields(cls):
    """The name, whether it is required, the default, the limits and the text of each field."""
    if dataclasses.is_dataclass(cls):
        for f in dataclasses.fields(cls):
            made = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
            required = made is dataclasses.MISSING
            if f.init:
                yield f.name, required, None if required else made, dict(f.metadata.get("limits", {})), f.metadata.get("text")
        return
    schema = (getattr(cls, "model_json_schema", None) or cls.schema)(by_alias=False)  # Pydantic 2, or 1
    names = {"minimum": "min", "maximum": "max", "minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"}
    for name, said in schema["properties"].items():
        said = {**next((one for one in said.get("anyOf", []) if one.get("type") != "null"), {}), **said}
        limits = {ours: said[theirs] for theirs, ours in names.items() if theirs in said}
        default = (getattr(cls, "model_fields", None) or cls.__fields__)[name].default
        required = name in schema.get("required", [])
        if required or type(default).__name__ == "PydanticUndefinedType":
            default = None
        yield name, required, default, limits, said.get("description")
