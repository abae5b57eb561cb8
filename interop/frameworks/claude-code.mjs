// Plays the program that the Claude Agent SDK starts: it asks a question, then whether it may use a tool, and its result
// says what was decided.
import { createInterface } from 'node:readline'
import { randomUUID } from 'node:crypto'

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n')
const session = randomUUID()
const waiting = new Map()

function request(tool_name, input) {
  const request_id = randomUUID()
  say({ type: 'control_request', request_id, request: { subtype: 'can_use_tool', tool_name, input, tool_use_id: 'toolu_' + randomUUID() } })
  return new Promise((resolve) => waiting.set(request_id, resolve))
}

async function turn() {
  say({ type: 'system', subtype: 'init', session_id: session, uuid: randomUUID(), tools: [], mcp_servers: [], model: 'scripted', permissionMode: 'default', cwd: '/', apiKeySource: 'none', slash_commands: [], output_style: 'default', claude_code_version: '2.1.0' })
  const asked = await request('AskUserQuestion', {
    questions: [{ question: 'Which database?', header: 'Storage', multiSelect: false, options: [{ label: 'PostgreSQL', description: 'already deployed' }, { label: 'SQLite', description: 'one file' }] }],
  })
  const used = await request('Bash', { command: 'make deploy' })
  const result = JSON.stringify([asked.updatedInput?.answers ?? asked.message, used.updatedInput ?? used.message])
  say({ type: 'result', subtype: 'success', result, session_id: session, uuid: randomUUID(), is_error: false, num_turns: 1, duration_ms: 1, duration_api_ms: 1, total_cost_usd: 0, usage: {}, permission_denials: [] })
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  switch (message.type) {
    case 'control_request':
      say({ type: 'control_response', response: { subtype: 'success', request_id: message.request_id, response: { commands: [], models: [], account: {} } } })
      break
    case 'control_response':
      waiting.get(message.response.request_id)?.(message.response.response)
      break
    case 'user':
      turn()
  }
}).on('close', () => process.exit(0))
