"""The same as fake.mjs with the package for Python."""

import json
import sys

from askbus import AskbusError
from askbus.testing import FakeAskbus

for case in json.loads(sys.argv[1]):
    bus = FakeAskbus([{"say": case["say"]}])
    try:
        bus.ask({"questions": [case["question"]]}, id="a")
        print(json.dumps(bus.get("a")["outcome"]["answers"][0]))
    except AskbusError:
        print("null")

# A dict is answered by the questions' ids, whatever they are.
only = FakeAskbus([{"say": "yes"}]).ask({"questions": [{"id": "answer", "text": "Go?"}]}, id="a")
assert only == {"answer": "yes"}, only
