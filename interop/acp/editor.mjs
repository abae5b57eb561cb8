// An editor by the official SDK, of protocol version 1 or 2. It starts an agent and says what happens, one JSON object a
// line; each line on standard input is what to do next:
//
//   node editor.mjs '{"version":1,"forms":true,"command":"askbus","args":["acp","--","node","acp/agent.mjs"]}'
//   {"ask":{"method":…,"params":…}}   the agent asks that; {"asked":{response…}} is said when it has its response
//   {"answer":{…}}                    the editor's open dialog is answered; {"shown":{…}} was said when it opened
//   {"cancel":true}                   the agent takes its question back     {"stop":true}  session/cancel
//   {"die":true}                      the agent is killed                   {"leave":true} the editor goes away
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'

const plan = JSON.parse(process.argv[2])
const two = plan.version === 2
const acp = await import(two ? '@agentclientprotocol/sdk/experimental/v2' : '@agentclientprotocol/sdk')
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')
const child = spawn(plan.command, plan.args, { stdio: ['pipe', 'pipe', 'inherit'] })
child.on('exit', (code, signal) => say({ exited: code, signal }))

let answer
const dialog = (kind) => ({ params, signal }) => {
  say({ shown: params, kind })
  return new Promise((resolve, reject) => {
    answer = resolve
    signal.addEventListener('abort', () => {
      say({ closed: true })
      reject(signal.reason)
    })
  })
}
const app = acp.client({ name: 'interop-editor' }).onRequest('session/request_permission', dialog('permission'))
if (plan.forms) app.onRequest('elicitation/create', dialog('form'))
const capabilities = plan.forms ? { elicitation: { form: {} } } : {}
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)))
const agent = connection.agent ?? connection.context ?? connection
await agent.request('initialize', two
  ? { protocolVersion: 2, info: { name: 'interop-editor', version: '1.0.0' }, capabilities }
  : { protocolVersion: 1, clientInfo: { name: 'interop-editor', version: '1.0.0' }, clientCapabilities: capabilities })
const { sessionId } = await agent.request('session/new', { cwd: process.cwd(), mcpServers: [] })
say({ connected: true, sessionId })
for await (const line of createInterface({ input: process.stdin })) {
  const todo = JSON.parse(line)
  if (todo.ask) agent.request('_interop/ask', todo.ask).then((asked) => say({ asked }), (error) => say({ error: String(error?.message ?? error) }))
  if (todo.answer) answer(todo.answer)
  if (todo.cancel) await agent.request('_interop/cancel', {})
  if (todo.stop) await agent.notify('session/cancel', { sessionId })
  if (todo.die) agent.request('_interop/die', {}).catch(() => {})
  if (todo.leave) process.exit(0)
}
