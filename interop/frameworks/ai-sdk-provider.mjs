// A tool that the model's provider runs, such as one of an MCP server that it hosts: the SDK passes on to the provider
// only what people said about such a tool.
import { generateText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { approvals } from 'askbus/ai'

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const calls = [
  { type: 'tool-call', toolCallId: 'call-1', toolName: 'mcp.deploy', input: '{}', providerExecuted: true, dynamic: true },
  { type: 'tool-approval-request', approvalId: `approval-${crypto.randomUUID()}`, toolCallId: 'call-1' },
]
let asked = false
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const said = prompt.flatMap(({ content }) => Array.isArray(content) ? content : []).find(({ type }) => type === 'tool-approval-response')
    const content = asked ? [{ type: 'text', text: `the provider is told ${said?.approved} ${said?.reason}` }] : calls
    asked = true
    return { content, finishReason: { unified: 'stop' }, usage, warnings: [] }
  },
})

const messages = [{ role: 'user', content: 'Deploy.' }]
for (let decided; ; messages.push(decided)) {
  const result = await generateText({ model, messages })
  messages.push(...result.response.messages)
  if (!(decided = await approvals(messages))) {
    console.log(result.text)
    break
  }
}
