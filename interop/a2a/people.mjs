// An agent and a person, both the unmodified SDK of the Agent2Agent protocol:
//
//   node people.mjs '{"url":"http://…","agent":"askb_…","screen":"askb_…"}'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { Role, TaskState } from '@a2a-js/sdk'

const plan = JSON.parse(process.argv[2])
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const as = (token) => {
  const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })
  return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
  })).createFromUrl(plan.url)
}
const text = (value) => ({ content: { $case: 'text', value } })
const data = (value) => ({ content: { $case: 'data', value } })
const raw = (value, filename) => ({ content: { $case: 'raw', value: Buffer.from(value) }, filename, mediaType: 'text/plain' })
const part = (parts, kind) => parts.find((p) => p.content.$case === kind)?.content.value

const agent = await as(plan.agent)
const screen = await as(plan.screen)
const question = { id: 'db', text: 'Which database?', options: [{ id: 'pg', label: 'PostgreSQL' }, { id: 'lite', label: 'SQLite' }] }
const asked = await agent.sendMessage({ message: { messageId: 'm-1', contextId: 's1', role: Role.ROLE_USER, parts: [text('I deploy.'), raw('1. migrate', 'plan.txt'), data({ questions: [question] })] } })
const shown = await screen.getTask({ id: asked.id })
say({ index: 0, asked: { id: asked.id, waits: asked.status.state === TaskState.TASK_STATE_INPUT_REQUIRED, shown: shown.status.state === TaskState.TASK_STATE_INPUT_REQUIRED, text: part(shown.status.message.parts, 'text'), questions: part(shown.status.message.parts, 'data').questions, plan: await (await fetch(part(shown.status.message.parts, 'url'), { headers: { authorization: `Bearer ${plan.screen}` } })).text() } })

const ended = await screen.sendMessage({ message: { messageId: 'm-2', taskId: asked.id, role: Role.ROLE_USER, parts: [text('2'), raw('measured', 'why.txt')] } })
const got = await agent.getTask({ id: asked.id })
say({ index: 1, result: { ended: ended.status.state === TaskState.TASK_STATE_COMPLETED, got: got.status.state === TaskState.TASK_STATE_COMPLETED, answers: part(got.artifacts[0].parts, 'data').answers, why: part(got.artifacts[0].parts, 'raw').toString() }, text: part(got.artifacts[0].parts, 'text') })

// A stream has the task, and when somebody has answered, its artifact and its last status; so has one that subscribes again.
const stream = agent.sendMessageStream({ message: { messageId: 'm-3', contextId: 's1', role: Role.ROLE_USER, parts: [text('Which branch?')] } })[Symbol.asyncIterator]()
const streamed = (await stream.next()).value.payload.value
const again = agent.resubscribeTask({ id: streamed.id })[Symbol.asyncIterator]()
await again.next()
await screen.sendMessage({ message: { messageId: 'm-4', taskId: streamed.id, role: Role.ROLE_USER, parts: [text('main')] } })
const rest = async (events) => {
  const all = []
  for (let e = await events.next(); !e.done; e = await events.next()) all.push(e.value.payload)
  return all.map((e) => `${e.$case} ${e.value.artifact ? part(e.value.artifact.parts, 'text') : e.value.status.state === TaskState.TASK_STATE_COMPLETED}`).join(', ')
}
say({ index: 2, result: { waits: streamed.status.state === TaskState.TASK_STATE_INPUT_REQUIRED, stream: await rest(stream), again: await rest(again) } })

const cancels = await agent.sendMessage({ message: { messageId: 'm-5', contextId: 's1', role: Role.ROLE_USER, parts: [text('Which tag?')] } })
const cancelled = await agent.cancelTask({ id: cancels.id })
const late = await screen.sendMessage({ message: { messageId: 'm-6', taskId: cancels.id, role: Role.ROLE_USER, parts: [text('main')] } }).catch((e) => e)
const unknown = await agent.getTask({ id: 's1/none' }).catch((e) => e)

// A list has the task that changed last first, in pages.
const pages = []
for (let pageToken = ''; pages.length === 0 || pageToken; ) {
  const page = await agent.listTasks({ contextId: 's1', pageSize: 2, pageToken })
  pages.push(page.tasks.map((task) => `${task.id} ${task.status.timestamp.slice(0, 4) >= '2026'} ${task.artifacts.length}`).join(', ') + ` of ${page.totalSize}`)
  pageToken = page.nextPageToken
}
const completed = await agent.listTasks({ status: TaskState.TASK_STATE_COMPLETED, includeArtifacts: true })
say({ index: 3, result: { pages, completed: completed.tasks.map((task) => part(task.artifacts[0].parts, 'text')), cancelled: cancelled.status.state === TaskState.TASK_STATE_CANCELED, late: late.message, unknown: unknown.constructor.name } })
