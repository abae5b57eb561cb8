"""LangGraph and LangChain's human-in-the-loop middleware: people decide, and Command(resume=…) goes on."""

from collections.abc import Iterable
from typing import Any

from . import Askbus


def _relayed(interrupts):
    frames = [i if isinstance(i, dict) else {"id": i.id, "value": i.value} for i in interrupts]
    if not frames or not frames[0].get("id"):
        raise ValueError('the interrupts have no id; give result["__interrupt__"]')
    return frames, frames[0]["id"]


def decisions(interrupts: Iterable[Any], bus: Askbus | None = None) -> Any:
    """The decisions about the interrupts of a paused graph, by their ids: what Command resumes it with."""
    frames, id = _relayed(interrupts)
    return (bus or Askbus()).relay("langchain", frames, id=id)


async def adecisions(interrupts: Iterable[Any], bus: Askbus | None = None) -> Any:
    """The same for asyncio."""
    frames, id = _relayed(interrupts)
    return await (bus or Askbus()).aio().relay("langchain", frames, id=id)
