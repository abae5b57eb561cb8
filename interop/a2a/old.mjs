// The same with an SDK of version 0.3:
//
//   node old.mjs '{"url":"http://…","agent":"askb_…","screen":"askb_…"}'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from 'a2a-sdk-0.3/client'

const plan = JSON.parse(process.argv[2])
const as = (token) => {
  const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })
  return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports: [new JsonRpcTransportFactory({ fetchImpl })] })).createFromUrl(plan.url)
}
const message = (messageId, text, more) => ({ message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }, { kind: 'file', file: { bytes: 'b25l', name: 'one.txt' } }], ...more } })
const agent = await as(plan.agent)
const asked = await agent.sendMessage(message('m-1', 'Which branch?', { contextId: 's1' }))
const ended = await (await as(plan.screen)).sendMessage(message('m-2', 'main', { taskId: asked.id }))
const got = await agent.getTask({ id: asked.id })
const stream = agent.sendMessageStream(message('m-3', 'Which tag?', { contextId: 's1' }))[Symbol.asyncIterator]()
const streamed = (await stream.next()).value
await (await as(plan.screen)).sendMessage(message('m-4', 'v1', { taskId: streamed.id }))
const events = [streamed.kind]
for (let e = await stream.next(); !e.done; e = await stream.next()) events.push(`${e.value.kind} ${e.value.final ?? e.value.lastChunk}`)
process.stdout.write(JSON.stringify({ index: 0, result: { kind: asked.kind, asked: asked.status.state, ended: ended.status.state, got: got.status.state, parts: got.artifacts[0].parts, events } }) + '\n')
