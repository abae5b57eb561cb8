"""A client with the types of quicktype: asks, waits, and reads what an unknown ask is told. What it reads has no field that the types do not have."""

import json
import os
import urllib.error
import urllib.request

import models


def call(kind, path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["ASKBUS_TOKEN"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["ASKBUS_HTTP_URL"] + path, body and json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            got = json.load(response)
    except urllib.error.HTTPError as error:
        kind, got = models.Problem, json.load(error)
    read = kind.from_dict(got)
    if read.to_dict() != got:
        raise SystemExit(f"{json.dumps(got)}\nis read as\n{json.dumps(read.to_dict())}")
    return read


options = [{"id": "a", "label": "PostgreSQL"}, {"id": "b", "label": "SQLite", "description": "one file"}]
form = models.Ask.from_dict({
    "id": "form", "title": "A ledger", "agent": {"name": "gen", "repository": "acme/payments", "branch": "main"}, "timeout": "2h", "priority": "high",
    "questions": [
        {"id": "db", "text": "Which?", "options": options}, {"id": "words", "text": "Words?"}, {"id": "n", "text": "How many?", "kind": "number", "limits": {"min": 0, "max": 9.5}},
        {"id": "yes", "text": "Sure?", "kind": "boolean"}, {"id": "day", "text": "When?", "kind": "date"}, {"id": "left", "text": "More?", "required": False},
    ],
})
for ask in form, models.Ask.from_dict({
    "id": "vote", "questions": [{"id": "db", "text": "Deploy?", "kind": "boolean"}],
    "approval": {"any_of": [{"need": 1, "from": ["os:mei"]}, {"all_of": [{"need": 2}], "distinct": True}], "deny": {"need": 1}},
}):
    status = call(models.Status, "/v1/asks?session=gen", ask.to_dict())
    outcome = call(models.Outcome, "/v1/asks?session=gen&wait=1m", ask.to_dict())
    got = call(models.Status, "/v1/asks/gen/" + ask.id)
    print(status.state.value, got.state.value, outcome.status.value, [(a.selected or a.text or a.number or a.boolean or a.date, a.notes) for a in outcome.answers], [v.choice.value for v in outcome.votes or []])
print(call(models.Status, "/v1/asks/gen/none").code)
print(call(models.Status, "/v1/asks?session=gen", {"questions": [{"text": ""}]}).errors[0].pointer)
