"""The Claude Agent SDK: people answer the agent's questions and permit its tools."""

import json
import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from . import Askbus, AskbusError, AsyncAskbus, End


def _results():
    """The SDK's results, or dicts in their shape where it is not installed."""
    try:
        from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny
    except ImportError:
        return lambda updated_input: {"behavior": "allow", "updatedInput": updated_input}, lambda message: {"behavior": "deny", "message": message}
    return PermissionResultAllow, PermissionResultDeny


def can_use_tool(bus: Askbus | None = None, other: Callable[[str, dict[str, Any], Any], Awaitable[Any]] | None = None) -> Callable[[str, dict[str, Any], Any], Awaitable[Any]]:
    """The option can_use_tool of the SDK.

    AskUserQuestion is answered by people. For every other tool people are asked whether it may run, unless
    other(tool_name, tool_input, context) decides. When the host cancels the agent, the question is withdrawn.
    """
    aio = (bus or Askbus()).aio()
    aio.on_cancel = "withdraw"
    allow, deny = _results()

    async def decide(tool_name, tool_input, context=None):
        id = getattr(context, "tool_use_id", None) or str(uuid.uuid4())
        if tool_name != "AskUserQuestion" and other:
            return await other(tool_name, tool_input, context)
        try:
            if tool_name == "AskUserQuestion":
                said = await aio.relay("claude-code", tool_input, id=id)
                if said.get("answers"):
                    return allow(updated_input={**tool_input, "answers": said["answers"], "annotations": said.get("annotations")})
                return deny(message=said.get("text", ""))
            result = await aio.confirm(f"May the agent use {tool_name}?", id=id, **await permission(aio, "claude-agent-sdk", tool_input))
            return allow(updated_input=tool_input) if result is True else deny(message=await refusal(aio, result, id))
        except AskbusError as error:
            return deny(message=f"Nobody decided: {error}")

    return decide


async def refusal(aio: AsyncAskbus, result: object, id: str) -> str:
    """Why the answer is no, for the model."""
    if isinstance(result, End):
        return result.reason or getattr(result, "response", "") or f"The answer is no ({type(result).__name__.lower()})."
    return (await aio.get(id))["outcome"]["answers"][0].get("notes") or "The answer is no."


async def permission(aio: AsyncAskbus, framework: str, value: object) -> dict[str, Any]:
    """What an ask needs in which people permit a call: all that the tool gets, as code, because Markdown would hide some of it.

    What is too long for a card is whole in a file. The mark, with your framework's name, keeps chats from offering what they cannot show.
    """
    text, said, files = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=vars), "", []
    text = text.encode(errors="backslashreplace").decode()  # the bus takes no half of a character, which models write
    if len(text) > _SHOWN:
        files = [await aio.upload(text.encode(), "call.txt")]
        said = "This is too long to be shown whole here. All of it is in the file `call.txt`: read it before you permit it.\n\n"
        text = f"{text[: _SHOWN // 2]}\n… {len(text) - _SHOWN} characters are left out …\n{text[-_SHOWN // 2 :]}"
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return {"context": f"{said}{fence}\n{text}\n{fence}", "files": files, "metadata": {"askbus_permission": framework}}


_SHOWN = 20_000
