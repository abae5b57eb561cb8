// The test vector of Standard Webhooks, and what is not to be accepted.
import { webhook } from 'askbus'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const at = 1614265330
const headers = { 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek', 'webhook-timestamp': String(at), 'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' }
const body = '{"test": 2432232314}'
const check = async (name, request, key = secret, now = at) => {
  console.log(name, await webhook(request, key, { now: 1000 * now }).then(({ id, data }) => `${id} ${data.test}`, (error) => `${error.name} ${error.code ?? ''} ${error.message}`))
}
await check('vector', { headers, body })
await check('request', new Request('https://a.example', { method: 'POST', headers, body }))
await check('rotated', { headers: { ...headers, 'webhook-signature': `v1,AAAA v1a,AAAA ${headers['webhook-signature']}` }, body: new TextEncoder().encode(body) }, ['whsec_b2xk', secret])
await check('body', { headers, body: body + ' ' })
await check('id', { headers: { ...headers, 'webhook-id': 'msg_2' }, body })
await check('secret', { headers, body }, 'whsec_b2xk')
await check('old', { headers, body }, secret, at + 301)
await check('early', { headers, body }, secret, at - 301)
await check('nan', { headers: { ...headers, 'webhook-timestamp': 'NaN' }, body })
await check('header', { headers: {}, body })
await check('none', { headers, body }, 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
