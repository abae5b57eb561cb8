"""The OpenAI Agents SDK: people approve the tool calls at which a run was interrupted."""

import asyncio
from typing import Any

from . import Askbus, AskbusError
from .claude import permission, refusal


async def decide(result: Any, bus: Askbus | None = None) -> Any:
    """Asks people about every interruption, at once, and returns the run's state with what they decided: run it again.

    The id of a call is that of its ask, so a run that is restored from its state does not ask twice. A call about which
    the bus asks nobody is rejected. While the bus cannot be reached it raises: call it again with the same result.
    """
    aio = (bus or Askbus()).aio()
    state = result.to_state()

    async def one(item):
        call = item.raw_item if isinstance(item.raw_item, dict) else vars(item.raw_item)
        agent = getattr(getattr(item, "agent", None), "name", "the agent")
        name, id = getattr(item, "tool_name", None) or call.get("name") or call["type"], call.get("call_id") or call["id"]
        given = call.get("arguments") or {key: call[key] for key in call if key not in _ABOUT}  # a shell's or a patch's call has no arguments
        try:
            said = await aio.confirm(f"May {agent} call {name}?", id=id, **await permission(aio, "openai-agents", given))
            return item, said is True, "" if said is True else await refusal(aio, said, id)
        except AskbusError as error:
            if error.code == "unavailable":
                raise
            return item, False, f"Nobody decided: {error}"

    for item, allowed, reason in await asyncio.gather(*(one(item) for item in result.interruptions)):
        if allowed:
            state.approve(item)
        else:
            state.reject(item, rejection_message=reason)
    return state


_ABOUT = ("type", "id", "call_id", "name", "status", "provider_data")
