"""What an agent's author is told of a mistake, before and after it is sent."""

from askbus import Askbus, AskbusError
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
