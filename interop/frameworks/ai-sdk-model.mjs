// A model that calls the tool, and then says what came of it.
import { MockLanguageModelV4 } from 'ai/test'

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }

export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const results = prompt.flatMap(({ content }) => Array.isArray(content) ? content : []).filter(({ type }) => type === 'tool-result')
    if (results.length > 0) {
      const { output } = results[0]
      return { content: [{ type: 'text', text: output.value ?? `${output.type}: ${output.reason}` }], finishReason: { unified: 'stop' }, usage, warnings: [] }
    }
    return {
      content: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'deploy', input: '{"to":"production"}' }],
      finishReason: { unified: 'tool-calls' }, usage, warnings: [],
    }
  },
})
