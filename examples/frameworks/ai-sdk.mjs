// The AI SDK stops where a tool needs approval; people approve or deny on any screen, and the next call goes on.
import { generateText, jsonSchema, tool } from 'ai'
import { approvals } from 'askbus/ai'
import { model } from './ai-sdk-model.mjs' // yours: a model of any provider

const tools = {
  deploy: tool({
    description: 'Deploy the build.',
    inputSchema: jsonSchema({ type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }),
    needsApproval: true,
    execute: ({ to }) => `deployed to ${to}`,
  }),
}

const messages = [{ role: 'user', content: 'Deploy the build to production.' }]
for (;;) {
  const result = await generateText({ model, tools, messages })
  messages.push(...result.response.messages)
  const decided = await approvals(messages)
  if (!decided) {
    console.log(result.text)
    break
  }
  messages.push(decided)
}
