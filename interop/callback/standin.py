"""Stands in for a Python agent SDK: it asks its permission callback about one tool use, says what the callback decided,
and cancels it when a line comes on standard input."""

import asyncio
import importlib.util
import json
import sys
import threading
import types

plan = json.loads(sys.argv[1])
spec = importlib.util.spec_from_file_location("askbus_callback", plan["callback"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


async def main():
    async def pause(_):
        pass

    decide = module.askbus_callback(url=plan["url"], token=plan["token"], session=plan["session"], wait=plan["wait"], pause=pause)
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
