// What an agent's author is told of a mistake, before and after it is sent.
import { createServer } from 'node:http'
import { Askbus, AskbusError } from 'askbus'
import { permission } from 'askbus/claude'
import { decide } from 'askbus/openai-agents'
import { FakeAskbus } from 'askbus/testing'

const bus = new FakeAskbus()
const check = async (name, call) => {
  try {
    await call()
    console.log(name, 'nothing')
  } catch (error) {
    console.log(name, error.constructor.name, error.message)
  }
}

await check('address', () => new Askbus({ url: 'localhost:8420' }))
await check('option', () => bus.confirm('Deploy?', { min_proof: 'os', wait: 0 }))
await check('field', () => bus.form({ n: { text: 'How many?', kind: 'number', maximum: 3 } }, { wait: 0 }))
await check('form', () => bus.form({ n: { text: 'How many?', kind: 'number' } }, { at_deadline: 'default', wait: 0 }))
await check('all', () => bus.text('Why?', { signal: undefined, onAbort: 'keep', wait: 0, title: 'T', maxLength: 3 }))
await check('twice', () => { throw new AskbusError({ detail: 'unknown token', errors: [{ pointer: '', code: 'token_unknown', detail: 'unknown token' }] }) })

// A proxy that cuts what is held for 20 s is no failure, however often it does.
let now = Date.now(), cuts = 0
Date.now = () => now
const proxied = async (url) => {
  if (Number.parseInt(new URL(url).searchParams.get('wait')) < 20) return Response.json({ status: 'pending' }, { status: 202 })
  now += 20_000
  return ++cuts < 3 ? new Response('<html>', { status: 504 }) : Response.json({ answers: {} })
}
await check('cut', () => new Askbus({ url: 'http://bus.example', token: 't', fetch: proxied }).relay('claude-code', {}, { id: 'c1' }))

// A call about which nobody was asked is rejected with the reason, and the run goes on.
const full = new Askbus({ url: 'http://bus.example', token: 't', fetch: async () => Response.json({ status: 507, code: 'quota', detail: 'no room for files' }, { status: 507 }) })
const state = { approve: () => console.log('decide approved'), reject: (_, { message }) => console.log('decide', message) }
const interrupted = { interruptions: [{ agent: { name: 'Release' }, rawItem: { callId: 'c1', name: 'deploy', arguments: 'x'.repeat(30_000) } }], state }
await decide(interrupted, { bus: full })
const away = new Askbus({ url: 'http://bus.example', token: 't', fetch: async () => new Response('<html>', { status: 500 }) })
await check('away', () => decide(interrupted, { bus: away })) // people may decide later: nothing is rejected

// A long call is cut between characters: the bus takes no half of one.
const { context } = await permission(bus, 'mine', 'x'.repeat(9_999) + '🚀'.repeat(10_000) + 'x')
console.log('cut call', context.isWellFormed())

// An address that redirects, such as http for https, is told: followed, the question would become a list of asks.
const moved = createServer((request, response) => {
  if (request.url.startsWith('/there')) response.setHeader('content-type', 'application/json').end('{"items":[]}')
  else response.writeHead(301, { location: '/there' }).end()
}).listen(0, '127.0.0.1', async () => {
  await check('moved', () => new Askbus({ url: `http://127.0.0.1:${moved.address().port}`, token: 't' }).confirm('Deploy?', { wait: 0 }))
  moved.close()
})
