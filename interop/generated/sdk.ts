// The same with the client of @hey-api/openapi-ts.
import { ask, getAsk } from './client/sdk.gen.js'
import { client } from './client/client.gen.js'

const { env } = (globalThis as any).process
client.setConfig({ baseUrl: env.ASKBUS_HTTP_URL, auth: env.ASKBUS_TOKEN })
const asked = await ask({
  query: { session: 'gen', wait: '1m' },
  body: { id: 'made', questions: [{ id: 'db', text: 'Which database?', options: [{ id: 'a', label: 'PostgreSQL' }, { id: 'b', label: 'SQLite' }] }] },
})
if (asked.data && 'status' in asked.data) console.log(JSON.stringify({ status: asked.response?.status, ends: asked.data.status, answers: asked.data.answers }))
const none = await getAsk({ path: { session: 'gen', id: 'none' } })
console.log(JSON.stringify({ none: none.error && 'code' in none.error ? none.error.code : '' }))
