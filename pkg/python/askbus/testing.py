"""A test double: an Askbus whose people answer from a script, without a bus and a network."""

import hashlib
import json
import re
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

from . import Askbus
from ._questions import seconds

MEI = {"principal": "test:mei", "name": "Mei", "proof": "test", "responder": "test"}


class FakeAskbus(Askbus):
    """Answers every ask whose questions all have a rule; the first rule of a question counts.

    The rules are those of pkg/askbustest, as dicts: question is its id or exact text (left out: any question), say the
    answer as a person types it (an option's label, id or number, several separated by commas; yes or no; a number, a
    date, a text), notes a note on it, and decline=True declines the whole ask, with say as the reason.

    An ask with a question that no rule matches stays pending until answer, or its timeout. An answer that its
    question does not allow raises AskbusError. asked has everything that was asked, in the protocol's JSON.
    """

    def __init__(self, rules: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__("http://fake.askbus", "fake", "test", transport=self._handle)
        self.asked: list[dict[str, Any]] = []
        self._rules, self._asks, self._changed = list(rules), {}, threading.Condition()
        self._files = {}

    def answer(self, rules: Iterable[Mapping[str, Any]], id: str | None = None) -> None:
        """Answers a pending ask by these rules now: that of this id, or every one."""
        with self._changed:
            for entry in self._asks.values():
                if not entry["outcome"] and id in (None, entry["ask"]["id"]):
                    self._play(rules, entry)

    def _handle(self, method, url, headers, body, timeout):
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        segments = parts.path.split("/")[3:]
        if parts.path.startswith("/v1/files"):
            return self._file(method, query, segments, body)
        with self._changed:
            status, reply = self._reply(method, query, segments, json.loads(body) if body else None)
        return status, {}, json.dumps(reply).encode()

    def _file(self, method, query, segments, body):
        if method == "GET":
            found = self._files.get(segments[0])
            return (200, {}, found) if found else (404, {}, json.dumps(_problem(404, "not_found", "no such file")[1]).encode())
        id = hashlib.sha256(body).hexdigest()
        self._files[id] = body
        kinds = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"RIFF", "image/webp"), (b"%PDF-", "application/pdf"))
        kind = next((kind for head, kind in kinds if body.startswith(head)), "text/plain")
        return 201, {}, json.dumps({"id": id, "name": query.get("name", ""), "media_type": kind, "size": len(body)}).encode()

    def _reply(self, method, query, segments, body):
        if method == "POST":
            return _problem(501, "invalid", "FakeAskbus speaks no dialects") if "dialect" in query else self._ask(body, query.get("session", "test"))
        if not segments:
            items = [self._status(entry) for entry in self._asks.values()]
            return 200, {"items": [item for item in items if query.get("state") in (None, item["state"]) and query.get("id") in (None, item["ask_id"])]}
        entry = self._asks.get("/".join(segments))
        if not entry:
            return _problem(404, "not_found", f"no ask {segments[-1]}")
        if method == "DELETE":
            if entry["outcome"] and entry["outcome"]["status"] != "withdrawn":
                return _problem(409, "already_resolved", "the ask has ended", outcome=entry["outcome"])
            self._end(entry, status="withdrawn", **({"reason": query["reason"]} if "reason" in query else {}))
            return 200, entry["outcome"]
        if "wait" in query:
            left = entry["deadline"] - time.monotonic()
            self._changed.wait_for(lambda: entry["outcome"], min(int(query["wait"].removesuffix("ms")) / 1000, left))
            if time.monotonic() >= entry["deadline"]:
                self._expire(entry)
            return (200, entry["outcome"]) if entry["outcome"] else (202, self._status(entry))
        return 200, self._status(entry)

    def _ask(self, ask, session):
        if not 1 <= len(ask.get("questions") or []) <= 16:
            return _problem(400, "invalid", "an ask has 1 to 16 questions")
        body = json.dumps(ask, sort_keys=True)
        for i, q in enumerate(ask["questions"]):
            q.setdefault("id", f"q{i + 1}")
            q.setdefault("kind", "choice" if q.get("options") else "text")
            for j, option in enumerate(q.get("options", [])):
                option.setdefault("id", f"o{j + 1}")
        known = self._asks.get(f"{session}/{ask['id']}")
        if known:
            same = known["body"] == body
            return (200, {**self._status(known), "created": False}) if same else _problem(409, "id_reused", f"another ask has the id {ask['id']}")
        entry = {"ask": ask, "session": session, "body": body, "outcome": None, "at": time.monotonic()}
        entry["deadline"] = entry["at"] + seconds(ask.get("timeout", "720h"))
        self._asks[f"{session}/{ask['id']}"] = entry
        self.asked.append(ask)
        try:
            self._play(self._rules, entry)
        except ValueError as error:
            del self._asks[f"{session}/{ask['id']}"]
            return _problem(400, "invalid", str(error))
        return 201, {**self._status(entry), "created": True}

    def _play(self, rules, entry):
        answers = []
        for q in entry["ask"]["questions"]:
            rule = next((r for r in rules if r.get("question", "").strip() in ("", q["id"], q["text"])), None)
            if rule is None:
                return
            say = rule.get("say", "")
            if rule.get("decline"):
                self._end(entry, status="cancelled", by=MEI, **({"reason": say} if say else {}))
                return
            try:
                answers.append({"question_id": q["id"], **parse_reply(q, say), **({"notes": rule["notes"]} if rule.get("notes") else {})})
            except ValueError as error:
                raise ValueError(f"the rule for question {q['id']}: {error}") from None
        for q, given in zip(entry["ask"]["questions"], answers):
            for option in q.get("options", []):
                if option.get("cancels") and option["id"] in given.get("selected", []):
                    self._end(entry, status="cancelled", by=MEI, cancelled_by={"question_id": q["id"], "option_id": option["id"]})
                    return
        self._end(entry, status="answered", source="human", answer_id=str(uuid.uuid4()), answers=answers, by=MEI)

    def _expire(self, entry):
        fields = {"choice": "selected"}
        given = [(q, {fields.get(q["kind"], q["kind"]): q["default"]} if "default" in q else {"skipped": True}) for q in entry["ask"]["questions"]]
        default = {"source": "default", "answers": [{"question_id": q["id"], **answer} for q, answer in given]}
        self._end(entry, status="expired", **(default if entry["ask"].get("at_deadline") == "default" else {}))

    def _end(self, entry, **how):
        if not entry["outcome"]:
            at, waited = datetime.now(timezone.utc).isoformat(), int(1000 * (time.monotonic() - entry["at"]))
            named = {"ask_id": entry["ask"]["id"], "tenant": "default", "session": entry["session"]}
            entry["outcome"] = {**named, "answers": [], "at": at, "waited_ms": waited, "ask": entry["ask"], **how}
            self._changed.notify_all()

    def _status(self, entry):
        ended = {"outcome": entry["outcome"]} if entry["outcome"] else {}
        named = {"ask_id": entry["ask"]["id"], "tenant": "default", "session": entry["session"]}
        return {**named, "state": "resolved" if ended else "pending", "present": ["test"], "ask": entry["ask"], **ended}


def _problem(status, code, detail, **more):
    return status, {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, **more}


def parse_reply(q: Mapping[str, Any], typed: str) -> dict[str, Any]:
    """The answer that a text means, as the bus reads it (pkg/ask, ParseReply). ValueError says why it is none."""
    text = typed.strip()
    if not text:
        if q.get("required", True):
            raise ValueError("Please give an answer.")
        return {"skipped": True}
    limits = q.get("limits", {})
    low, high = limits.get("min"), limits.get("max")

    def check(fits, otherwise):
        if not fits:
            raise ValueError(limits.get("message") or otherwise)

    def within(given):
        check((low is None or given >= low) and (high is None or given <= high), f"Your answer is {text}; give one from {low} to {high}.")

    match q["kind"]:
        case "number":
            if not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([Ee][+-]?\d+)?", text):
                raise ValueError(f'"{text}" is not a number; type one such as 3 or 2.5.')
            number = float(text)
            check(not limits.get("integer") or number.is_integer(), f"Your answer is {text}; give a whole number.")
            within(number)
            return {"number": int(number) if number.is_integer() else number}
        case "boolean":
            said = text.lower()
            if said not in ("1", "yes", "y", "true", "是", "2", "no", "n", "false", "否"):
                raise ValueError(f'"{text}" is neither yes nor no.')
            return {"boolean": said in ("1", "yes", "y", "true", "是")}
        case "date":
            found = re.fullmatch(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", text)
            if not found:
                raise ValueError(f'"{text}" is not a date; type one such as 2026-11-20.')
            day = date(*map(int, found.groups())).isoformat()
            within(day)
            return {"date": day}
        case "choice" if q.get("options"):
            return _choice(q, text)
    longest = limits.get("max_length") or 65536
    check(limits.get("min_length", 0) <= len(text) <= longest, f"Your answer has {len(text)} characters; give {limits.get('min_length', 0)} to {longest}.")
    check(re.search(limits.get("pattern", ""), text), f"Your answer does not match {limits.get('pattern')}.")
    return {"text": text}


def _choice(q, text):
    other = q.get("allow_other", True)
    if whole := _find(q, text):
        return {"selected": [whole]}
    if other and (own := re.fullmatch(r"other:\s*(\S.*)", text, re.I | re.S)):
        return {"other": own[1]}
    if q.get("multiple"):
        pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
        found = {piece: _find(q, piece) for piece in pieces}
        selected = list(dict.fromkeys(id for id in found.values() if id))
        rest = [piece for piece in pieces if not found[piece]]
        if selected and (other or not rest):
            count, low, high = len(selected) + bool(rest), q.get("min_items", 0), q.get("max_items") or len(q["options"]) + 1
            if not low <= count <= high:
                raise ValueError(f"Your answer has {count} options; choose {low} to {high}.")
            return {"selected": selected, **({"other": ", ".join(rest)} if rest else {})}
    if other and not text.isdecimal():
        return {"other": text}
    raise ValueError(f'"{text}" is not one of the options; type a number from 1 to {len(q["options"])}.')


def _find(q, text):
    """The id of the one option that a text names: by its id, label, number, or a part of its label that no other has."""
    plain, options = text.lower(), q["options"]
    for fits in (lambda o: o["id"] == text, lambda o: plain in (o["label"].lower(), o["id"].lower())):
        if named := next((o["id"] for o in options if fits(o)), None):
            return named
    if re.fullmatch(r"\d{1,3}", text) and 1 <= int(text) <= len(options):
        return options[int(text) - 1]["id"]
    part = [o["id"] for o in options if plain in o["label"].lower()]
    if len(part) > 1:
        raise ValueError(f'"{text}" fits {len(part)} options. Type the number of one.')
    return part[0] if part else None
