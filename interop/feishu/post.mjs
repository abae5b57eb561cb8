// Posts a card with a form with the Client of @larksuiteoapi/node-sdk.
import { Client, LoggerLevel } from '@larksuiteoapi/node-sdk'

const env = process.env
const client = new Client({ appId: env.FEISHU_APP_ID, appSecret: env.FEISHU_APP_SECRET, domain: env.FEISHU_DOMAIN, loggerLevel: LoggerLevel.error })
const text = (content) => ({ tag: 'plain_text', content })
const form = { tag: 'form', name: 'f', elements: [{ tag: 'input', name: 'other_0', max_length: 1000, placeholder: text('Other') }, { tag: 'button', name: 'send_0_x', text: text('Send'), type: 'primary', form_action_type: 'submit' }] }
await client.im.v1.message.create({ params: { receive_id_type: 'chat_id' }, data: { receive_id: 'oc_asks', msg_type: 'interactive', content: JSON.stringify({ schema: '2.0', config: { update_multi: true }, body: { elements: [form] } }) } })
console.log(JSON.stringify({ name: 'posted' }))
