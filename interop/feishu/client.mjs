// Calls of the Client of @larksuiteoapi/node-sdk, unmodified: each prints what came of it, a line of JSON each.
import { Client, AppType, LoggerLevel } from '@larksuiteoapi/node-sdk'

const env = process.env
const client = new Client({ appId: env.FEISHU_APP_ID, appSecret: env.FEISHU_APP_SECRET, domain: env.FEISHU_DOMAIN, appType: AppType.SelfBuild, loggerLevel: LoggerLevel.fatal })
const card = (elements, extra = {}) => JSON.stringify({ schema: '2.0', config: { update_multi: true }, body: { elements }, ...extra })
const words = (content) => ({ tag: 'markdown', content })
const send = (content, uuid, receive_id = 'oc_asks') => client.im.v1.message.create({ params: { receive_id_type: 'chat_id' }, data: { receive_id, msg_type: 'interactive', content, uuid } })
let id

async function call(name, f) {
  try {
    console.log(JSON.stringify({ name, ok: true, ...(await f()) }))
  } catch (e) {
    console.log(JSON.stringify({ name, ok: false, status: e.response?.status, code: e.response?.data?.code, reset: e.response?.headers?.['x-ogw-ratelimit-reset'], message: e.response ? undefined : e.message }))
  }
}

await call('post', async () => {
  const posted = await send(card([words('question')]), 'key-1')
  id = posted.data.message_id
  return { code: posted.code, chat: posted.data.chat_id }
})
await call('post again', async () => ({ same: (await send(card([words('question')]), 'key-1')).data.message_id === id }))
await call('edit', async () => ({ code: (await client.im.v1.message.patch({ path: { message_id: id }, data: { content: card([words('done')]) } })).code }))
await call('reply', async () => ({ code: (await client.im.v1.message.reply({ path: { message_id: id }, data: { msg_type: 'text', content: JSON.stringify({ text: 'words' }) } })).code }))
await call('members', async () => {
  const names = []
  for await (const page of await client.im.v1.chatMembers.getWithIterator({ path: { chat_id: 'oc_asks' }, params: { member_id_type: 'union_id', page_size: 1 } })) names.push(...page.items.map((m) => m.name))
  return { names }
})
await call('user', async () => ({ user: (await client.contact.v3.user.get({ path: { user_id: 'on_mei' }, params: { user_id_type: 'union_id' } })).data.user.name }))
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
await call('image', async () => {
  const { image_key } = await client.im.v1.image.create({ data: { image_type: 'message', image: png } })
  return { code: (await client.im.v1.message.reply({ path: { message_id: id }, data: { msg_type: 'image', content: JSON.stringify({ image_key }) } })).code }
})
await call('file', async () => {
  const { file_key } = await client.im.v1.file.create({ data: { file_type: 'stream', file_name: 'log.txt', file: Buffer.from('words') } })
  return { code: (await client.im.v1.message.reply({ path: { message_id: id }, data: { msg_type: 'file', content: JSON.stringify({ file_key }) } })).code }
})
await call('an unknown property', () => send(card([{ ...words('x'), colour: 'red' }])))
await call('an unknown element', () => send(card([{ tag: 'action', actions: [] }])))
await call('a form without a button', () => send(card([{ tag: 'form', name: 'f', elements: [words('x')] }])))
await call('30 KB', () => send(card([words('x'.repeat(31 << 10))])))
await call('no chat', () => send(card([words('x')]), 'key-2', 'oc_nowhere'))
await call('no message', () => client.im.v1.message.patch({ path: { message_id: 'om_none' }, data: { content: card([words('x')]) } }))
await call('storm', async () => { for (let i = 0; i < 8; i++) await send(card([words('x')])) })
const wrong = new Client({ appId: env.FEISHU_APP_ID, appSecret: 'wrong', domain: env.FEISHU_DOMAIN, loggerLevel: LoggerLevel.fatal, disableTokenCache: true, cache: { get: async () => undefined, set: async () => true } })
await call('a wrong secret', () => wrong.im.v1.message.get({ path: { message_id: id } }))
