"""Approves the tool calls at which a run of the OpenAI Agents SDK for Python was interrupted: people decide on any
screen. The same call_id again is the same ask.

    result = await Runner.run(agent, "Deploy the build to production.")
    while result.interruptions:
        result = await Runner.run(agent, await decide(result))
"""

import asyncio
import json
import sys
from types import SimpleNamespace

from askbus.openai_agents import decide

if __name__ == "__main__":  # the raw_item of a frame that was recorded comes on standard input, and stands for a run's result
    decisions = []
    state = SimpleNamespace(approve=lambda item: decisions.append([True, ""]), reject=lambda item, rejection_message: decisions.append([False, rejection_message]))
    item = SimpleNamespace(raw_item=json.load(sys.stdin), agent=SimpleNamespace(name="Release"))
    asyncio.run(decide(SimpleNamespace(interruptions=[item], to_state=lambda: state)))
    print(json.dumps(decisions[0]))
