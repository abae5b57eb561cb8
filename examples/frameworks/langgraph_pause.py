"""Resumes a LangGraph graph in Python after LangChain's human-in-the-loop middleware paused it: people decide on any
screen. Standard library only.

    result = graph.invoke(state, config)
    while result.get("__interrupt__"):
        frames = [{"id": i.id, "value": i.value} for i in result["__interrupt__"]]
        result = graph.invoke(Command(resume=decide(frames)), config)

ASKBUS_HTTP_URL and ASKBUS_TOKEN ("askbus token issue --session build-42") say where.
"""

import json
import os
import sys
import urllib.request


def decide(interrupts):
    """Returns the decisions by interrupt id. It waits as long as it takes; the same interrupts again are the same ask."""
    request = urllib.request.Request(
        os.environ.get("ASKBUS_HTTP_URL", "http://127.0.0.1:8420").rstrip("/") + "/v1/asks?dialect=langchain&wait=50s",
        json.dumps(interrupts).encode(),
        {"Authorization": "Bearer " + os.environ["ASKBUS_TOKEN"], "Content-Type": "application/json", "Idempotency-Key": interrupts[0]["id"]},
    )
    while True:
        with urllib.request.urlopen(request, timeout=80) as response:
            answer = json.load(response)
            if response.status != 202:  # 202: nobody has answered yet
                return answer


if __name__ == "__main__":  # frames that were recorded come on standard input
    print(json.dumps(decide(json.load(sys.stdin))))
