"""Approves the tool calls at which a run of the OpenAI Agents SDK for Python was interrupted: people decide on any
screen. Standard library only.

    result = await Runner.run(agent, "Deploy the build to production.")
    while result.interruptions:
        state = result.to_state()
        for item in result.interruptions:
            allowed, reason = await asyncio.to_thread(approved, item.raw_item.call_id, item.raw_item.name, item.raw_item.arguments)
            state.approve(item) if allowed else state.reject(item, rejection_message=reason)
        result = await Runner.run(agent, state)

ASKBUS_HTTP_URL and ASKBUS_TOKEN ("askbus token issue --session build-42") say where.
"""

import json
import os
import sys
import urllib.request


def approved(call_id, name, arguments):
    """Returns whether people allow the call, and why not. The same call_id again is the same ask."""
    ask = {"id": call_id, "context": f"The arguments are: {arguments}", "questions": [{"id": "ok", "kind": "boolean", "text": f"May the agent call {name}?"}]}
    request = urllib.request.Request(
        os.environ.get("ASKBUS_HTTP_URL", "http://127.0.0.1:8420").rstrip("/") + "/v1/asks?wait=50s",
        json.dumps(ask).encode(),
        {"Authorization": "Bearer " + os.environ["ASKBUS_TOKEN"], "Content-Type": "application/json"},
    )
    while True:
        with urllib.request.urlopen(request, timeout=80) as response:
            outcome = json.load(response)
            if response.status != 202:  # 202: nobody has answered yet
                break
    answer = (outcome.get("answers") or [{}])[0]
    return answer.get("boolean", False), answer.get("notes") or outcome.get("reason") or f"The answer is no ({outcome['status']})."


if __name__ == "__main__":  # the raw_item of a frame that was recorded comes on standard input
    item = json.load(sys.stdin)
    print(json.dumps(approved(item["call_id"], item["name"], item["arguments"])))
