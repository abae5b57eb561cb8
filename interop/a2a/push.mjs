// An agent that is notified, with the unmodified SDKs of version 1.0 and 0.3. Its receiver hands over what came; it is verified by a foreign
// library and read by the SDK:
//
//   node push.mjs '{"url":"http://…","agent":"askb_…","receiver":"http://…","secret":"whsec_…"}'
import { createInterface } from 'node:readline'
import { Webhook } from 'standardwebhooks'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { Role, StreamResponse, taskStateToJSON } from '@a2a-js/sdk'
import * as old from 'a2a-sdk-0.3/client'

const plan = JSON.parse(process.argv[2])
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${plan.agent}` } })
const connect = (sdk) => new sdk.ClientFactory(sdk.ClientFactoryOptions.createFrom(sdk.ClientFactoryOptions.default, { transports: [new sdk.JsonRpcTransportFactory({ fetchImpl })] })).createFromUrl(plan.url)
const received = async () => {
  const { body, headers } = JSON.parse((await lines.next()).value)
  const json = new Webhook(plan.secret).verify(body, headers)
  return { json, token: headers['x-a2a-notification-token'], type: headers['content-type'] }
}

let agent = await connect({ ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory })
while (!(await agent.getAgentCard()).capabilities.pushNotifications) agent = await connect({ ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory })
const message = (messageId) => ({ messageId, contextId: 's1', role: Role.ROLE_USER, parts: [{ content: { $case: 'text', value: 'Which branch?' } }] })
const config = { tenant: '', taskId: '', id: 'first', url: plan.receiver, token: 'secret', authentication: undefined }
const elsewhere = await agent.sendMessage({ message: message('m-0'), configuration: { taskPushNotificationConfig: { ...config, url: 'https://elsewhere.example.com/' } } }).catch((e) => e.message)
const task = await agent.sendMessage({ message: message('m-1'), configuration: { taskPushNotificationConfig: config } })
const second = await agent.createTaskPushNotificationConfig({ ...config, taskId: task.id, id: '' })
const { configs } = await agent.listTaskPushNotificationConfig({ taskId: task.id })
await agent.deleteTaskPushNotificationConfig({ taskId: task.id, id: second.id })
const got = await agent.getTaskPushNotificationConfig({ taskId: task.id, id: 'first' })
say({ index: 0, result: { elsewhere, second: second.id, configs: configs.map((c) => c.id), got: got.url === plan.receiver } })
const now = await received()
const read = StreamResponse.fromJSON(now.json).payload
say({ index: 1, result: { kind: read.$case, id: read.value.id, state: taskStateToJSON(read.value.status.state), text: read.value.artifacts[0].parts[0].content.value, token: now.token, type: now.type } })

const before = await connect(old)
const asked = await before.sendMessage({ message: { kind: 'message', messageId: 'm-2', contextId: 's1', role: 'user', parts: [{ kind: 'text', text: 'Which tag?' }] } })
const set = await before.setTaskPushNotificationConfig({ taskId: asked.id, pushNotificationConfig: { url: plan.receiver, token: 'other' } })
const listed = await before.listTaskPushNotificationConfig({ id: asked.id })
say({ index: 2, result: { set: set.pushNotificationConfig.id, listed: listed.map((c) => c.taskId) } })
const then = await received()
say({ index: 3, result: { kind: then.json.kind, id: then.json.id, state: then.json.status.state, token: then.token, type: then.type } })
