// Stands in for a TypeScript agent SDK: it asks its permission callback about one tool use, says what the callback
// decided, and interrupts it when a line comes on standard input.
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const plan = JSON.parse(process.argv[2])
const { Askbus } = await import(pathToFileURL(`${plan.package}/dist/index.js`))
const { canUseTool } = await import(pathToFileURL(`${plan.package}/dist/claude.js`))
const stop = new AbortController()
createInterface({ input: process.stdin }).on('line', () => stop.abort())
const other = async (name, input) => ({ behavior: 'allow', updatedInput: input })
const decide = canUseTool({ bus: new Askbus({ url: plan.url, token: plan.token, session: plan.session }), other })
const decision = await decide(plan.tool, plan.input, { signal: stop.signal, toolUseID: plan.id }).catch((error) => ({ cancelled: error.name === 'AbortError' }))
process.stdout.write(JSON.stringify({ index: 0, result: decision }) + '\n')
process.exit(0)
