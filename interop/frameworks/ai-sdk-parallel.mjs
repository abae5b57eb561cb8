// A model that calls three tools at once: one returns at once, a rule of the program denies one, and one waits for people.
import { generateText, jsonSchema, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { approvals } from 'askbus/ai'

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const call = (toolName) => ({ type: 'tool-call', toolCallId: `call-${toolName}`, toolName, input: '{}' })
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const results = prompt.flatMap(({ content }) => Array.isArray(content) ? content : []).filter(({ type }) => type === 'tool-result')
    const text = results.map(({ toolName, output }) => `${toolName} ${output.value ?? output.reason}`).sort().join(', ')
    return results.length > 0
      ? { content: [{ type: 'text', text }], finishReason: { unified: 'stop' }, usage, warnings: [] }
      : { content: ['deploy', 'drop', 'read'].map(call), finishReason: { unified: 'tool-calls' }, usage, warnings: [] }
  },
})
const of = (name) => tool({ description: name, inputSchema: jsonSchema({ type: 'object' }), execute: () => 'ran' })
const tools = { deploy: of('deploy'), drop: of('drop'), read: of('read') }
const toolApproval = { deploy: { type: 'user-approval', reason: 'It is Friday.' }, drop: { type: 'denied', reason: 'never' } }

const messages = [{ role: 'user', content: 'Deploy.' }]
for (;;) {
  const result = await generateText({ model, tools, messages, toolApproval })
  messages.push(...result.response.messages)
  const decided = await approvals(messages)
  if (!decided) {
    console.log(result.text)
    break
  }
  messages.push(decided)
}
