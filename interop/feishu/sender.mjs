// Sends a webhook that the EventDispatcher of @larksuiteoapi/node-sdk accepts and decrypts to the address in FEISHU_URL,
// and prints the answer: once as it is, then with one letter of the signature changed.
import { createCipheriv, createHash, randomBytes } from 'node:crypto'
import { EventDispatcher, LoggerLevel } from '@larksuiteoapi/node-sdk'

const { FEISHU_URL, FEISHU_APP_ID, FEISHU_ENCRYPT_KEY: encryptKey, FEISHU_VERIFICATION_TOKEN: token } = process.env
const event = { schema: '2.0', header: { event_id: 'e1', event_type: 'im.chat.updated_v1', token, app_id: FEISHU_APP_ID, tenant_key: 't1' }, event: { 名: '值' } }
const iv = randomBytes(16)
const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(encryptKey).digest(), iv)
const data = { encrypt: Buffer.concat([iv, cipher.update(JSON.stringify(event), 'utf8'), cipher.final()]).toString('base64') }
const stamp = String(Math.floor(Date.now() / 1000))
const signature = createHash('sha256').update(stamp + 'n1' + encryptKey + JSON.stringify(data)).digest('hex')
const headers = { 'content-type': 'application/json', 'x-lark-request-timestamp': stamp, 'x-lark-request-nonce': 'n1', 'x-lark-signature': signature }

const sdk = new EventDispatcher({ encryptKey, loggerLevel: LoggerLevel.error }).requestHandle
const seen = Object.assign(Object.create({ headers }), data)
console.log(JSON.stringify({ name: 'sdk', valid: sdk.checkIsEventValidated(seen), event: sdk.parse(seen).event_id }))
for (const name of ['signed', 'forged']) {
  if (name === 'forged') headers['x-lark-signature'] = (signature[0] === '0' ? '1' : '0') + signature.slice(1)
  const res = await fetch(FEISHU_URL, { method: 'POST', headers, body: JSON.stringify(data) })
  console.log(JSON.stringify({ name, status: res.status, body: (await res.text()).trim() }))
}
