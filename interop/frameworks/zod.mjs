// Answers are checked and typed by a schema of zod.
import { FakeAskbus } from 'askbus/testing'
import { z } from 'zod'

const bus = new FakeAskbus([{ question: 'port', say: '8080' }, { question: 'host', say: 'a.example' }, { question: 'Which port?', say: '99999' }])
const fields = { host: { text: 'Which host?' }, port: { text: 'Where?', kind: 'number' } }
console.log(await bus.form(fields, { schema: z.object({ host: z.string().transform((h) => h.toUpperCase()), port: z.number() }) }).orThrow())
const end = await bus.number('Which port?', { schema: z.number().max(65535) })
console.log(end.status, end.value, end.issues.length)
