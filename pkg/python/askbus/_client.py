"""The clients: Askbus, which blocks, and AsyncAskbus for asyncio. Their types are in _client.pyi."""

import asyncio
import hashlib
import json
import os
import re
import threading
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

from . import _ends as ends
from ._http import PATIENCE, AskbusError, Http, over_network
from ._questions import ONLY, Form, envelope, seconds, single, value

HELD = 25  # seconds of one request that waits; many proxies cut one after 30 to 60 s without a byte
FOREVER = float("inf")
MOST_ASKINGS = 100  # of one question without an id, before its id is random


def _state():
    """What a call knows of its ask while it runs; asyncio sets stop when its task is cancelled."""
    return SimpleNamespace(stop=threading.Event(), ask=None)


class Askbus:
    """A client of one bus, safe for threads. It holds nothing open between calls; one for a process is enough.

    url is ASKBUS_HTTP_URL by default, else http://127.0.0.1:8420; token ASKBUS_TOKEN; session ASKBUS_SESSION, else the
    token's only one. agent says who asks, on every ask that does not say it itself.

    Every method that asks takes id=, wait= (seconds or "30s", before it returns Pending; 0 returns at once; default: as
    long as it takes) and what an ask may say beside its questions: title, context, agent, priority, audience, min_proof,
    asker, exclude_asker, only, exclude, approval, require_responder, while_waiting, callback, timeout, deadline,
    at_deadline, metadata, escalate, escalate_repeat, escalate_hours, files. It returns the answer, or an End.
    """

    def __init__(self, url=None, token=None, session=None, tenant=None, agent=None, *, transport=over_network):
        token = token or os.environ.get("ASKBUS_TOKEN")
        if not token:
            raise ValueError('no token: give token=, or set ASKBUS_TOKEN ("askbus token issue --session build-42" makes one)')
        self.session, self.tenant, self.agent = session or os.environ.get("ASKBUS_SESSION") or None, tenant, agent
        self._http = Http(url or os.environ.get("ASKBUS_HTTP_URL") or "http://127.0.0.1:8420", token, transport)
        self._lock = threading.Lock()
        self._open: set[str] = set()  # ids without a name that this client waits for
        self._ended: dict[str, int] = {}  # of a question without an id: how many askings are known to have ended

    def aio(self):
        """The same for asyncio."""
        return AsyncAskbus(self)

    def choose(self, text, options, **more):
        """Lets somebody choose: options are labels by id, dicts with a label by id, or an Enum. The answer is an id, or a
        member of the Enum; with multiple=True a list (min=, max=); with other=True it may be Other(text)."""
        return self._single("choice", text, more, options)

    def confirm(self, text, **more):
        """Asks yes or no."""
        return self._single("boolean", text, more)

    def text(self, text, **more):
        """Asks for a text: min_length=, max_length=, pattern= (RE2), message=, placeholder=."""
        return self._single("text", text, more)

    def number(self, text, **more):
        """Asks for a number: min=, max=, integer=, message=, placeholder=."""
        return self._single("number", text, more)

    def date(self, text, **more):
        """Asks for a day, a datetime.date: min=, max=, message=."""
        return self._single("date", text, more)

    def ask(self, what, *, id=None, wait=None, _call=None, **ask):
        """Asks what the fields of a dataclass or a Pydantic model say, and returns it filled; or asks in the protocol's
        own JSON, a dict, and returns the answers by the questions' ids."""
        if isinstance(what, dict):
            what = {**what, **envelope(ask)}
            return self._run(id or what.pop("id", None), {k: v for k, v in what.items() if k != "id"}, wait, None, _call)
        form = Form(what)
        return self._run(id, {**envelope(ask), "questions": form.questions}, wait, form.fill, _call)

    def wait(self, ask, what=None, *, wait=None, _call=None):
        """Waits for an ask, from any process: by its id, or by what ask of an End says. what is the dataclass, model or
        Enum that was asked for; without it the answer is as JSON has it."""
        call = _call or _state()
        call.ask = self._place(ask)
        members = getattr(what, "__members__", None)
        fill = Form(what).fill if what and members is None else None
        return self._wait(call.ask, wait, _reader(None, fill, members), call)

    def get(self, ask):
        """The status of an ask, in the protocol's JSON: with its outcome, which says who answered and when."""
        at = self._place(ask)
        return self._http.call("GET", _path(at), {"tenant": at.tenant or self.tenant})[1]

    def withdraw(self, ask, reason=None):
        """Takes an ask back. People read the reason. If it had ended otherwise, the result says how."""
        at = self._place(ask)
        try:
            outcome = self._http.call("DELETE", _path(at), {"tenant": at.tenant or self.tenant, "reason": reason})[1]
        except AskbusError as error:
            if not (outcome := error.outcome):
                raise
        return _reader()(outcome, [])

    def upload(self, file, name=None):
        """Uploads a file: bytes, or a path. The result goes into files= of an ask, or is the file of an option."""
        if not isinstance(file, bytes):
            name, file = name or Path(file).name, Path(file).read_bytes()
        return self._http.call("POST", "/v1/files", {"session": self.session, "tenant": self.tenant, "name": name}, file)[1]

    def file(self, id, session=None):
        """Reads a file by its id, such as a screenshot in an answer of the outcome."""
        return self._http.call("GET", "/v1/files/" + quote(id, safe=""), {"session": session or self.session, "tenant": self.tenant}, raw=True)[1]

    def list(self, state=None, session=None):
        """Yields the asks of the session, or of all that the token may see; state is "pending" or "resolved"."""
        cursor = None
        while True:
            query = {"state": state, "session": session or self.session, "tenant": self.tenant, "cursor": cursor}
            page = self._http.call("GET", "/v1/asks", query)[1]
            yield from page["items"]
            if not (cursor := page.get("next")):
                return

    def relay(self, dialect, request, *, id, _call=None):
        """Asks in the shape of another tool (docs/http.md lists the dialects) and returns the answer in that shape. The
        same id again is the same ask. The adapters are made of it."""
        call, key, patience, hold = _call or _state(), token_of(id), PATIENCE, 1
        call.ask = key
        while True:
            query = {"dialect": dialect, "wait": f"{hold}s", "session": self.session, "tenant": self.tenant}
            status, body = self._http.call("POST", "/v1/asks", query, request, key, call.stop, patience, hold)
            if status != 202:
                return body
            patience, hold = FOREVER, HELD  # once it is stored, a proxy that cuts waits is no failure

    def _single(self, kind, text, more, options=None):
        id, wait, call = more.pop("id", None), more.pop("wait", None), more.pop("_call", None)
        q, meanings, rest = single(kind, text, more, options)
        return self._run(id, {**envelope(rest), "questions": [q]}, wait, None, call, meanings, True)

    def _run(self, id, ask, wait, fill, call, meanings=None, bare=False):
        call = call or _state()
        if self.agent and "agent" not in ask:
            ask = {**ask, "agent": self.agent}
        if id is not None:
            key = call.ask = token_of(id)
            status = self._post(key, ask, call)
        else:
            key, status = self._unnamed(ask, call)
        try:
            at = call.ask = ends.AskRef(status.get("session") or self.session or "cli", status["ask_id"], status.get("tenant"))
            read = _reader(ask["questions"], fill, meanings, bare)
            if status.get("outcome"):
                return read(status["outcome"], [])
            if wait is not None and seconds(wait) == 0:
                return ends.Pending(at)
            return self._wait(at, wait, read, call)
        finally:
            self._open.discard(key)

    def _post(self, key, ask, call):
        return self._http.call("POST", "/v1/asks", {"session": self.session, "tenant": self.tenant}, {"id": key, **ask}, stop=call.stop)[1]

    def _unnamed(self, ask, call):
        """Asks under an id that follows from the ask: a process that was restarted comes to the same one, and attaches to
        its open ask. One that has ended is not an answer to this call: then the next number is asked."""
        base = "auto-" + hashlib.sha256(json.dumps([self.tenant, self.session, ask], sort_keys=True).encode()).hexdigest()[:32]
        n = self._ended.get(base, 0)
        while True:
            key = call.ask = f"{base}-{n if n < MOST_ASKINGS else uuid.uuid4()}"[:64]
            with self._lock:
                taken = key in self._open
                self._open.add(key)
            if not taken:
                try:
                    status = self._post(key, ask, call)
                except BaseException:
                    self._open.discard(key)
                    raise
                if status.get("created") or not status.get("outcome"):
                    return key, status
                with self._lock:
                    self._open.discard(key)
                    if len(self._ended) >= 1000:
                        self._ended.clear()
                    self._ended[base] = n + 1
            n += 1

    def _wait(self, at, wait, read, call):
        until = FOREVER if wait is None else time.monotonic() + seconds(wait)
        while True:
            left = max(0.0, until - time.monotonic())
            hold = min(HELD, left)
            query = {"tenant": at.tenant or self.tenant, "wait": f"{int(hold * 1000) + 1}ms" if left else None}
            body = self._http.call("GET", _path(at), query, stop=call.stop, patience=max(left, 5), hold=hold)[1]
            outcome = body.get("outcome") or (body if "status" in body else None)
            if outcome:
                return read(outcome, body.get("ask", {}).get("questions", []))
            if time.monotonic() >= until:
                return ends.Pending(at)

    def _place(self, ask):
        """Where an ask is. Without a session in the reference or the client, the bus is asked."""
        if isinstance(ask, ends.AskRef):
            return ask
        key = token_of(ask)
        if self.session:
            return ends.AskRef(token_of(self.session), key)
        items = self._http.call("GET", "/v1/asks", {"id": key, "tenant": self.tenant})[1]["items"]
        if not items:
            raise AskbusError(f"no ask {ask}", 404, "not_found")
        return ends.AskRef(items[0]["session"], key, items[0]["tenant"])


def _coroutine(name, waits=True):
    async def method(self, *args, **ask):
        return await self._start(name, args, ask, waits)

    method.__name__, method.__doc__ = name, getattr(Askbus, name).__doc__
    return method


class AsyncAskbus:
    """The methods of Askbus as coroutines. Each call has a thread while it waits.

    A cancelled task stops waiting, and its ask stays; with on_cancel="withdraw" it is withdrawn.
    """

    def __init__(self, bus: Askbus, on_cancel="keep"):
        self._bus, self.on_cancel = bus, on_cancel

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def _start(self, name, args, ask, waits):
        loop, call = asyncio.get_running_loop(), _state()
        future = loop.create_future()

        def work():
            result = error = None
            try:
                result = getattr(self._bus, name)(*args, **ask, **({"_call": call} if waits else {}))
                result = [*result] if name == "list" else result
            except Exception as e:
                error = e
            try:
                loop.call_soon_threadsafe(lambda: future.done() or (future.set_exception(error) if error else future.set_result(result)))
            except RuntimeError:
                pass  # the loop was closed meanwhile

        threading.Thread(target=work, name="askbus", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            call.stop.set()
            if self.on_cancel == "withdraw" and call.ask:
                try:
                    await asyncio.shield(asyncio.to_thread(self._bus.withdraw, call.ask, "the agent was interrupted"))
                except AskbusError:
                    pass  # it then ends at its deadline
            raise

    choose, confirm, text, number, date = (_coroutine(n) for n in ("choose", "confirm", "text", "number", "date"))
    ask, wait, relay = _coroutine("ask"), _coroutine("wait"), _coroutine("relay")
    get, withdraw, list, upload, file = (_coroutine(n, False) for n in ("get", "withdraw", "list", "upload", "file"))


def _path(at):
    return f"/v1/asks/{quote(at.session, safe='')}/{quote(at.id, safe='')}"


def _reader(asked=None, fill=None, meanings=None, bare=True):
    """Makes the function that turns an outcome into the answer or an End. Bare is the answer of an only question."""

    def read(outcome, questions):
        at = ends.AskRef(outcome["session"], outcome["ask_id"], outcome["tenant"])
        said = (at, outcome.get("reason", ""), outcome)
        status, default = outcome["status"], outcome.get("source") == "default"
        if status != "answered" and not default:
            return {"cancelled": ends.Declined, "withdrawn": ends.Withdrawn, "expired": ends.Expired, "aborted": ends.Aborted}[status](*said)
        answers, left = outcome["answers"], [a for a in outcome["answers"] if a.get("skipped")]
        known = {q.get("id") or f"q{i + 1}": q for i, q in enumerate(outcome.get("ask", {}).get("questions") or questions or asked or [])}
        if outcome.get("response") and (left == answers or any(known.get(a["question_id"], {}).get("required", True) for a in left)):
            return ends.Replied(*said, outcome["response"])
        values = {a["question_id"]: value(known.get(a["question_id"], {}), a, meanings) for a in answers}
        result = values[ONLY] if bare and list(values) == [ONLY] and not fill else values
        if fill:
            try:
                result = fill(answers)
            except (TypeError, ValueError) as error:
                return ends.Unfit(*said, values, error)
        return ends.Expired(*said, result) if default else result

    return read


def token_of(text):
    """Maps any text to an id of the protocol, as the bus does: the text itself, or a part of it and 8 digits of its hash."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        return text
    slug = re.sub(r"-?[^\w-]+", "-", re.sub(r"^[^\w-]+", "", text, flags=re.ASCII), flags=re.ASCII)[:55].strip("-")
    return (slug and slug + "-") + hashlib.sha256(text.encode()).hexdigest()[:8]
