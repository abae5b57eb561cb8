"""The same as agent.mjs with the package for Python."""

import json
import sys

from askbus import Askbus

plan = json.loads(sys.argv[1])
bus = Askbus(agent={"name": "tester"})
options = [{"id": "pg", "label": "PostgreSQL"}, {"id": "lite", "label": "SQLite"}]
if plan["do"] == "kinds":
    questions = [
        {"id": "one", "text": "One?", "options": options, "allow_other": False},
        {"id": "some", "text": "Some?", "options": options, "multiple": True},
        {"id": "own", "text": "Own?", "options": options},
        {"id": "words", "text": "Words?"},
        {"id": "share", "text": "Share?", "kind": "number"},
        {"id": "large", "text": "Large?", "kind": "number", "limits": {"integer": True}},
        {"id": "no", "text": "No?", "kind": "boolean"},
        {"id": "day", "text": "Day?", "kind": "date"},
        {"id": "left", "text": "Left out?", "required": False},
    ]
    bus.ask({"questions": questions}, id="kinds", wait=0)
    print("asked", flush=True)
    values = bus.ask({"questions": questions}, id="kinds")
    outcome = bus.get("kinds")["outcome"]
    print(values, outcome["by"]["name"], outcome["answers"][0]["notes"])
elif plan["do"] == "approval":
    file = bus.upload(b"the plan", "plan.txt")
    assert bus.file(file["id"]) == b"the plan"
    print(bus.confirm("Deploy?", files=[file], approval={"any_of": [{"need": 1, "from": ["os:mei"]}]}, asker=["os:bo"], exclude=["os:bo"], id="approval"))
else:
    pending = bus.text("What is the ticket?", wait=0, **({"id": plan["id"]} if plan.get("id") else {}))
    print("asked", flush=True)
    print(json.dumps(bus.wait(pending.ask)))
