// A call that is too long for a card, as the Claude Agent SDK asks for its permission.
import { canUseTool } from 'askbus/claude'

const command = 'x'.repeat(50_000) + '; rm -rf ~; ' + 'y'.repeat(50_000)
const { behavior, updatedInput } = await canUseTool()('Bash', { command }, { toolUseID: 'toolu_long' })
console.log(behavior, updatedInput.command === command)
