// An agent by the official SDK, of protocol version 1 or 2 (its argument). The editor tells it by an extension request
// what to ask, and gets the response that came back:
//
//   _interop/ask {"method":"session/request_permission","params":{…},"cancelAfter":"_interop/cancel"?}
import { Readable, Writable } from 'node:stream'

const two = process.argv[2] === '2'
const acp = await import(two ? '@agentclientprotocol/sdk/experimental/v2' : '@agentclientprotocol/sdk')
let declared
let taken = new AbortController()


const app = acp.agent({ name: 'interop-agent' })
  .onRequest('initialize', ({ params }) => {
    declared = two ? params.capabilities : params.clientCapabilities
    return two
      ? { protocolVersion: 2, info: { name: 'interop-agent', title: 'Interop Agent', version: '1.0.0' }, capabilities: {} }
      : { protocolVersion: 1, agentInfo: { name: 'interop-agent', title: 'Interop Agent', version: '1.0.0' }, agentCapabilities: {} }
  })
  .onRequest('session/new', () => ({ sessionId: 'interop-session' }))
  .onRequest('_interop/ask', (params) => params, async ({ params, client }) => {
    taken = new AbortController()
    try {
      return { declared, response: await client.request(params.method, params.params, { cancellationSignal: taken.signal }) }
    } catch (error) {
      return { declared, error: { code: error.code, message: error.message } }
    }
  })
  .onRequest('_interop/cancel', (params) => params, () => { taken.abort(); return {} })
  .onRequest('_interop/die', (params) => params, () => process.exit(9))
  .onNotification('session/cancel', () => {})
app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))
