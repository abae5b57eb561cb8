"""A call that is too long for a card, as the Claude Agent SDK asks for its permission."""

import asyncio

from askbus.claude import can_use_tool

command = "x" * 50_000 + "; rm -rf ~; " + "y" * 50_000
said = asyncio.run(can_use_tool()("Bash", {"command": command}))
print(said["behavior"], said["updatedInput"]["command"] == command)
