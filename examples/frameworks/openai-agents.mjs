// A run of the OpenAI Agents SDK is interrupted where a tool needs approval; people decide on any screen, and it goes on.
import { Agent, run, tool } from '@openai/agents-core'
import { askbus } from './askbus.mjs'
import { model } from './openai-agents-model.mjs' // yours, or leave model out

const deploy = tool({
  name: 'deploy', description: 'Deploy the build.', needsApproval: true,
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
  execute: ({ to }) => `deployed to ${to}`,
})

let result = await run(new Agent({ name: 'Release', model, tools: [deploy] }), 'Deploy the build to production.')
while (result.interruptions.length > 0) {
  for (const item of result.interruptions) {
    const outcome = await askbus(item.rawItem.callId, {
      context: 'The arguments are: ' + item.rawItem.arguments,
      questions: [{ id: 'ok', kind: 'boolean', text: `May ${item.agent.name} call ${item.rawItem.name}?` }],
    })
    const answer = outcome.answers?.[0]
    if (answer?.boolean) result.state.approve(item)
    else result.state.reject(item, { message: answer?.notes ?? outcome.reason ?? `The answer is no (${outcome.status}).` })
  }
  result = await run(result.lastAgent, result.state)
}
console.log(result.finalOutput)
