// A model that runs a shell command and changes a file: calls without arguments, which people permit.
import { Agent, applyPatchTool, run, setTracingDisabled, shellTool, Usage } from '@openai/agents-core'
import { decide } from 'askbus/openai-agents'

setTracingDisabled(true)
const calls = [
  { type: 'shell_call', callId: 'call-1', status: 'completed', action: { commands: ['rm -rf `pwd`/*build*'] } },
  { type: 'apply_patch_call', callId: 'call-2', status: 'completed', operation: { type: 'delete_file', path: 'notes.txt' } },
]
const model = {
  asked: false,
  async getResponse() {
    const output = this.asked ? [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }] : calls
    this.asked = true
    return { usage: new Usage(), output }
  },
}
const done = { status: 'completed' }
const shell = { run: async () => ({ output: [{ stdout: 'ok', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] }) }
const editor = { createFile: () => done, updateFile: () => done, deleteFile: () => done }
const tools = [shellTool({ shell, needsApproval: true }), applyPatchTool({ editor, needsApproval: true })]

let result = await run(new Agent({ name: 'Release', model, tools }), 'Clean up.')
while (result.interruptions.length > 0) result = await run(result.lastAgent, await decide(result))
console.log(result.finalOutput)
