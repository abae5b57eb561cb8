// A run of the OpenAI Agents SDK is interrupted where a tool needs approval; people decide on any screen, and it goes on.
import { Agent, run, tool } from '@openai/agents-core'
import { decide } from 'askbus/openai-agents'
import { model } from './openai-agents-model.mjs' // yours, or leave model out

const deploy = tool({
  name: 'deploy', description: 'Deploy the build.', needsApproval: true,
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
  execute: ({ to }) => `deployed to ${to}`,
})

let result = await run(new Agent({ name: 'Release', model, tools: [deploy] }), 'Deploy the build to production.')
while (result.interruptions.length > 0) result = await run(result.lastAgent, await decide(result))
console.log(result.finalOutput)
