"""The OpenAI Agents SDK: people approve the tool calls at which a run was interrupted."""

import asyncio
from typing import Any

from . import Askbus
from .claude import refusal


async def decide(result: Any, bus: Askbus | None = None) -> Any:
    """Asks people about every interruption, at once, and returns the run's state with what they decided: run it again.

    The id of a call is that of its ask, so a run that is restored from its state does not ask twice.
    """
    aio = (bus or Askbus()).aio()
    state = result.to_state()

    async def one(item):
        call = item.raw_item if isinstance(item.raw_item, dict) else vars(item.raw_item)
        agent = getattr(getattr(item, "agent", None), "name", "the agent")
        said = await aio.confirm(f"May {agent} call {call['name']}?", id=call["call_id"], context=f"The arguments are: {call['arguments']}")
        return item, said is True, "" if said is True else await refusal(aio, said, call["call_id"])

    for item, allowed, reason in await asyncio.gather(*(one(item) for item in result.interruptions)):
        if allowed:
            state.approve(item)
        else:
            state.reject(item, rejection_message=reason)
    return state
