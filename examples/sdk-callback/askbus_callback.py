"""A permission callback for an agent SDK in Python: the questions that the agent asks with AskUserQuestion are
answered by people through askbus, on whatever screen they sit at. Every other tool goes to your own rule.

    from your_agent_sdk import Options
    from askbus_callback import askbus_callback

    Options(can_use_tool=askbus_callback(session="build-42", allow=PermissionResultAllow, deny=PermissionResultDeny))

ASKBUS_HTTP_URL (such as http://127.0.0.1:8420) and ASKBUS_TOKEN ("askbus token issue --session build-42") say where the bus
is. There is no time limit of ours: the callback may wait for hours, and asks again while the bus is away. When the host
cancels the task, the ask is withdrawn, so that nobody answers what is not wanted any more. Standard library only.
"""

import asyncio
import json
import os
import re
import urllib.error
import urllib.request
import uuid


def _allow(updated_input):
    return {"behavior": "allow", "updatedInput": updated_input}


def _deny(message):
    return {"behavior": "deny", "message": message}


def askbus_callback(url=None, token=None, session=None, wait=50, other=None, allow=None, deny=None, pause=None):
    """Make the callback. allow and deny make the SDK's results, with updated_input= and message=; default: dicts.
    other(tool_name, input, context) decides about all other tools; default: allow. pause(attempt) waits while the bus
    is away."""
    base = (url or os.environ.get("ASKBUS_HTTP_URL") or "http://127.0.0.1:8420").rstrip("/")
    token = token or os.environ.get("ASKBUS_TOKEN", "")
    session = session or os.environ.get("ASKBUS_SESSION") or "sdk"
    allowed = (lambda i: allow(updated_input=i)) if allow else _allow
    denied = (lambda m: deny(message=m)) if deny else _deny
    pause = pause or (lambda attempt: asyncio.sleep(min(2**attempt, 30)))

    def request(method, path, body, timeout):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Askbus-Session": session, "Askbus-Wait": f"{wait}s"}
        call = urllib.request.Request(base + path, json.dumps(body).encode(), headers, method=method)
        try:
            with urllib.request.urlopen(call, timeout=timeout) as response:
                return response.status, json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            try:
                return error.code, json.loads(error.read() or b"{}")
            except ValueError:
                return error.code, {}

    def withdraw(ask_id):
        try:
            request("DELETE", f"/v1/asks/{session}/{ask_id}", {"reason": "the agent was interrupted"}, 10)
        except (OSError, ValueError):
            pass  # it then ends at its deadline

    async def can_use_tool(tool_name, tool_input, context=None):
        if tool_name != "AskUserQuestion":
            return await other(tool_name, tool_input, context) if other else allowed(tool_input)
        # The same id again is the same ask: repeating a request never asks twice.
        ask_id = re.sub(r"[^A-Za-z0-9_-]", "-", getattr(context, "tool_use_id", None) or str(uuid.uuid4()))[:64]
        body = {"tool_name": tool_name, "tool_use_id": ask_id, "session_id": session, "input": tool_input}
        attempt = 0
        try:
            while True:
                try:
                    status, answer = await asyncio.to_thread(request, "POST", "/v1/permission", body, wait + 30)
                except (OSError, ValueError):
                    status, answer = 0, {}
                if status == 200 and answer.get("behavior") == "allow":
                    return allowed(answer["updatedInput"])
                if status == 200 and answer.get("behavior") == "deny":
                    return denied(answer.get("message", ""))
                if 400 <= status < 500 and status not in (408, 429):
                    return denied("Nobody was asked: " + str(answer.get("detail", status)))
                if status in (202, 504):  # still pending
                    attempt = 0
                    continue
                await pause(attempt)  # the bus is away; the ask, if it is stored, stays
                attempt += 1
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.to_thread(withdraw, ask_id))
            raise

    return can_use_tool
