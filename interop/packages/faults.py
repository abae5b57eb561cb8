"""What an agent's author is told of a mistake, before and after it is sent."""

import asyncio
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

from askbus import Askbus, AskbusError, _http
from askbus.claude import permission
from askbus.openai_agents import decide
from askbus.testing import FakeAskbus

bus = FakeAskbus()


def check(name, call):
    try:
        call()
        print(name, "nothing")
    except Exception as error:
        print(name, type(error).__name__, error)


def refused():
    raise AskbusError("unknown token", errors=[{"pointer": "", "code": "token_unknown", "detail": "unknown token"}])


check("address", lambda: Askbus(url="localhost:8420"))
check("option", lambda: bus.confirm("Deploy?", minProof="os", wait=0))
check("all", lambda: bus.text("Why?", wait=0, title="T", max_length=3))
check("twice", refused)

# A proxy that cuts what is held for 20 s is no failure, however often it does.
now, cuts = [0], [0]
_http.time = SimpleNamespace(monotonic=lambda: now[0])


def proxied(method, url, headers, body, timeout):
    if int(parse_qs(urlsplit(url).query)["wait"][0][:-1]) < 20:
        return 202, {}, b'{"status": "pending"}'
    now[0] += 20
    cuts[0] += 1
    return (504, {}, b"<html>") if cuts[0] < 3 else (200, {}, b'{"answers": {}}')


check("cut", lambda: Askbus("http://bus.example", "t", transport=proxied).relay("claude-code", {}, id="c1"))

# A call about which nobody was asked is rejected with the reason, and the run goes on.
full = Askbus("http://bus.example", "t", transport=lambda *_: (507, {}, b'{"status": 507, "code": "quota", "detail": "no room for files"}'))
state = SimpleNamespace(approve=lambda _: print("decide approved"), reject=lambda _, rejection_message: print("decide", rejection_message))
call = SimpleNamespace(raw_item={"call_id": "c1", "name": "deploy", "arguments": "x" * 30_000})
interrupted = SimpleNamespace(to_state=lambda: state, interruptions=[call])
asyncio.run(decide(interrupted, full))
away = Askbus("http://bus.example", "t", transport=lambda *_: (500, {}, b"<html>"))
check("away", lambda: asyncio.run(decide(interrupted, away)))  # people may decide later: nothing is rejected

# A model may write half of a character, which the bus does not take.
needs = asyncio.run(permission(bus.aio(), "mine", {"text": "\ud83d" + "x" * 30_000}))
print("half", "\\ud83d" in needs["context"], len(needs["files"]))


# An address that redirects, such as http for https, is told: followed, the question would become a list of asks.
class Moved(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"items":[]}')

    def do_POST(self):
        self.send_response(301)
        self.send_header("Location", "/there")
        self.end_headers()

    def log_message(self, *_):
        pass


moved = HTTPServer(("127.0.0.1", 0), Moved)
Thread(target=moved.serve_forever, daemon=True).start()
check("moved", lambda: Askbus(f"http://127.0.0.1:{moved.server_port}", "t").confirm("Deploy?", wait=0))
