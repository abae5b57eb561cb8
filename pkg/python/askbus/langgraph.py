"""LangGraph and LangChain's human-in-the-loop middleware: people decide, and Command(resume=…) goes on."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from . import Askbus


def _relayed(interrupts):
    frames = [i if isinstance(i, dict) else {"id": i.id, "value": i.value} for i in interrupts]
    if not frames or not frames[0].get("id"):
        raise ValueError('the interrupts have no id; give result["__interrupt__"]')
    # All interrupts of one task have one id: what they say tells them apart.
    said = json.dumps([frame.get("value") for frame in frames], sort_keys=True)
    return frames, f"{frames[0]['id']}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def decisions(interrupts: Iterable[Any], bus: Askbus | None = None) -> Any:
    """The decisions about the interrupts of a paused graph, by their ids: what Command resumes it with."""
    frames, id = _relayed(interrupts)
    return (bus or Askbus()).relay("langchain", frames, id=id)


async def adecisions(interrupts: Iterable[Any], bus: Askbus | None = None) -> Any:
    """The same for asyncio."""
    frames, id = _relayed(interrupts)
    return await (bus or Askbus()).aio().relay("langchain", frames, id=id)
