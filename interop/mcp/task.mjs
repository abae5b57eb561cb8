// Asks with the official client and the official package for MCP's tasks extension, and prints what happens:
//
//   node task.mjs '{"url":"http://…/mcp","token":"…"}'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'

const plan = JSON.parse(process.argv[2])
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const clientInfo = { name: 'interop', version: '1.0.0' }
const client = new Client(clientInfo, { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } }, versionNegotiation: { mode: 'auto' } })
const headers = { Authorization: 'Bearer ' + plan.token }
await client.connect(new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers } }))

// The client's own codec does not take a task for a result, so the package needs a way to send requests as they are.
let id = 0
const rawDispatch = async (request) => {
  const response = await fetch(plan.url, {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: ++id, ...request }),
    headers: {
      ...headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': request.method,
      ...(request.params?.name ? { 'Mcp-Name': request.params.name } : request.params?.taskId ? { 'Mcp-Name': request.params.taskId } : {}),
    },
  })
  const text = await response.text()
  const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
  return error ? { kind: 'error', error } : { kind: 'result', result }
}
const session = createTaskSessionFromClient(client, { endpointId: plan.url, rawDispatch, v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities: {} } })
const ask = (ask_id) => session.callTool('AskUserQuestion', { ask_id, questions: [{ question: 'Which database?', header: 'Storage', options: [{ label: 'PostgreSQL' }, { label: 'SQLite' }] }] })

const seen = []
const settled = await (await ask('first')).settle({
  onEvent: ({ task }) => {
    if (task && seen.push(task.status) === 1) say({ index: 0, result: { taskId: task.taskId, status: task.status } })
  },
})
const result = resultFromTaskOutcome(settled.outcome)
say({ index: 1, result: { status: settled.outcome.status, seen: [...new Set(seen)], structured: result.structuredContent }, text: result.content[0].text })
const cancelled = await ask('second')
const { outcome } = await cancelled.settle({ onEvent: async ({ task }) => { if (task?.status === 'working') await cancelled.cancel() } })
say({ index: 2, result: { status: outcome.status } })
await session.close()
