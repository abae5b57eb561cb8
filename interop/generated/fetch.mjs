// A client with the types of openapi-typescript: asks, waits, and reads what an unknown ask is told.
import createClient from 'openapi-fetch'

const { argv, env } = /** @type {any} */ (globalThis).process

/** @type {import('openapi-fetch').Client<import('./api.js').paths>} */
const client = createClient({ baseUrl: env.ASKBUS_HTTP_URL, headers: { Authorization: `Bearer ${env.ASKBUS_TOKEN}` } })

const asked = await client.POST('/v1/asks', {
  params: { query: { session: 'gen', wait: '1m' } },
  body: { id: 'typed', questions: [{ id: 'db', text: 'Which database?', options: [{ id: 'a', label: 'PostgreSQL' }, { id: 'b', label: 'SQLite' }] }] },
})
if (asked.data && 'status' in asked.data) console.log(JSON.stringify({ status: asked.response.status, ends: asked.data.status, answers: asked.data.answers }))

const read = await client.GET('/v1/asks/{session}/{id}', { params: { path: { session: 'gen', id: 'typed' } } })
console.log(JSON.stringify({ read: read.response.status, state: read.response.headers.get('Askbus-State') }))

const none = await client.GET('/v1/asks/{session}/{id}', { params: { path: { session: 'gen', id: 'none' } } })
console.log(JSON.stringify({ none: none.error?.code }))

// @ts-expect-error: the description knows no such path
if (argv.includes('never')) await client.GET('/v1/nothing')
