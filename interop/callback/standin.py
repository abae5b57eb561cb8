"""Stands in for a Python agent SDK: it asks its permission callback about one tool use, says what the callback decided,
and cancels it when a line comes on standard input."""

import asyncio
import json
import sys
import threading
import types

plan = json.loads(sys.argv[1])
sys.path.insert(0, plan["package"])

from askbus import Askbus  # noqa: E402
from askbus.claude import can_use_tool  # noqa: E402


async def main():
    async def other(tool_name, tool_input, context):
        return {"behavior": "allow", "updatedInput": tool_input}

    decide = can_use_tool(Askbus(plan["url"], plan["token"], plan["session"]), other)
    task = asyncio.ensure_future(decide(plan["tool"], plan["input"], types.SimpleNamespace(tool_use_id=plan["id"])))
    loop = asyncio.get_running_loop()

    def cancel():
        if sys.stdin.readline():
            loop.call_soon_threadsafe(task.cancel)

    threading.Thread(target=cancel, daemon=True).start()
    try:
        decision = await task
    except asyncio.CancelledError:
        decision = {"cancelled": True}
    print(json.dumps({"index": 0, "result": decision}), flush=True)


asyncio.run(main())
