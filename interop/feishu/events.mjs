// An app of @larksuiteoapi/node-sdk, unmodified: its WSClient on the long connection, or its adapter for webhooks if
// FEISHU_PORT is set, with its EventDispatcher, or with its CardActionHandler for /card. It prints what happens, a line
// of JSON each, until its input ends.
import { createServer } from 'node:http'
import { WSClient, EventDispatcher, CardActionHandler, adaptDefault, LoggerLevel } from '@larksuiteoapi/node-sdk'

const env = process.env
const print = (line) => console.log(JSON.stringify(line))
const keys = { encryptKey: env.FEISHU_ENCRYPT_KEY, verificationToken: env.FEISHU_VERIFICATION_TOKEN, loggerLevel: LoggerLevel.error }
const clicked = (by) => async (e) => {
  print({ did: by, who: e.operator.union_id, tenant: e.operator.tenant_key, name: e.action.value?.name ?? e.action.name, form: e.action.form_value, message: e.context.open_message_id })
  return { toast: { type: 'success', content: `stored by ${by}` }, card: { type: 'raw', data: { schema: '2.0', config: { update_multi: true }, body: { elements: [{ tag: 'markdown', content: 'done' }] } } } }
}
const dispatcher = new EventDispatcher(keys).register({
  'card.action.trigger': clicked('dispatcher'),
  'im.message.receive_v1': async (e) => print({ did: 'message', text: JSON.parse(e.message.content).text, who: e.sender.sender_id.union_id }),
})

if (env.FEISHU_PORT) {
  const events = adaptDefault('/events', dispatcher, { autoChallenge: true })
  const cards = adaptDefault('/card', new CardActionHandler(keys, clicked('handler')), { autoChallenge: true })
  const server = createServer((req, res) => { events(req, res); cards(req, res) }).listen(+env.FEISHU_PORT, '127.0.0.1', () => print({ did: 'ready' }))
  process.stdin.on('end', () => { server.close(); server.closeAllConnections() })
} else {
  const ws = new WSClient({ appId: env.FEISHU_APP_ID, appSecret: env.FEISHU_APP_SECRET, domain: env.FEISHU_DOMAIN, loggerLevel: LoggerLevel.error, onReady: () => print({ did: 'ready' }), onReconnected: () => print({ did: 'reconnected' }) })
  await ws.start({ eventDispatcher: dispatcher })
  process.stdin.on('end', () => ws.close({ force: true }))
}
process.stdin.resume()
