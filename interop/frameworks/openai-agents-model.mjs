// A model that calls the tool, and then says what came of it.
import { setTracingDisabled, Usage } from '@openai/agents-core'

setTracingDisabled(true)

export const model = {
  async getResponse({ input }) {
    const result = Array.isArray(input) && input.find(({ type }) => type === 'function_call_result')
    if (result) {
      const text = typeof result.output === 'string' ? result.output : result.output.text
      return { usage: new Usage(), output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }] }
    }
    return {
      usage: new Usage(),
      output: [{ type: 'function_call', callId: 'call-' + crypto.randomUUID(), name: 'deploy', arguments: '{"to":"production"}', status: 'completed' }],
    }
  },
}
