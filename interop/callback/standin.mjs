// Stands in for a TypeScript agent SDK: it asks its permission callback about one tool use, says what the callback
// decided, and interrupts it when a line comes on standard input.
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const plan = JSON.parse(process.argv[2])
const { askbusCallback } = await import(pathToFileURL(plan.callback))
const stop = new AbortController()
createInterface({ input: process.stdin }).on('line', () => stop.abort())
const decide = askbusCallback({ url: plan.url, token: plan.token, session: plan.session, wait: plan.wait, pause: async () => {} })
const decision = await decide(plan.tool, plan.input, { signal: stop.signal, toolUseID: plan.id })
process.stdout.write(JSON.stringify({ index: 0, result: decision }) + '\n')
process.exit(0)
