// Runs Codex's app-server behind "askbus codex" against a scripted model (responses.mjs), with a client and a bus of its
// own, and says for each path what held. No account is needed.
//
// node codex.mjs BIN ASKBUS MCPSERVER    the directory of Codex's program (node_modules/.bin), the program, and an MCP server
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [bin, askbus, mcpServer] = process.argv.slice(2).map((path) => resolve(path))
const here = dirname(fileURLToPath(import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'askbus-codex-'))
const project = join(dir, 'project')
const log = join(dir, 'model.log')
const children = []
const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), CODEX_HOME: join(dir, 'home', '.codex'), ASKBUS_DIR: join(dir, 'bus'), TERM: 'dumb', LANG: 'C.UTF-8' }
const run = (args) => execFileSync(askbus, args, { env, cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const asks = (state = 'pending') => JSON.parse(run(['list', '--state', state, '--output', 'json'])).items

// told is what the model was told last of its tool call.
const told = () => {
  const last = JSON.parse(readFileSync(log, 'utf8').split('\n').at(-2)).input.at(-1)
  return last.type.endsWith('_output') ? JSON.stringify(last.output) : ''
}

// until returns the first true value of look, or throws after 60 s with what was awaited.
async function until(what, look) {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) {
    const value = await look()
    if (value) return value
  }
  throw new Error('never: ' + what)
}

function same(got, want) {
  if (got !== want) throw new Error(`got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
}

// client starts a server behind a proxy, and a thread.
async function client(args = [], vars = {}) {
  const child = spawn(askbus, ['codex', ...args, '--', join(bin, 'codex'), 'app-server'], { env: { ...env, ...vars }, cwd: project, stdio: ['pipe', 'pipe', 'ignore'] })
  children.push(child)
  const c = { child, requests: [], resolved: [], done: 0, turn: undefined }
  const waits = new Map()
  let text = ''
  let n = 0
  c.send = (message) => child.stdin.write(JSON.stringify(message) + '\n')
  c.request = (method, params) => new Promise((done) => { waits.set(++n, done); c.send({ id: n, method, params }) })
  child.stdout.on('data', (data) => {
    text += data
    for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) {
      const m = JSON.parse(text.slice(0, end))
      if (!m.method) waits.get(m.id)?.(m.result)
      else if (m.id !== undefined) c.requests.push(m)
      else if (m.method === 'serverRequest/resolved') c.resolved.push(m.params.requestId)
      else if (m.method === 'turn/completed') c.done++
      else if (m.method === 'turn/started') c.turn = m.params.turn.id
    }
  })
  await c.request('initialize', { clientInfo: { name: 'test', version: '1' }, capabilities: { experimentalApi: true } })
  c.send({ method: 'initialized' })
  c.thread = (await c.request('thread/start', { cwd: project, approvalPolicy: 'untrusted', sandbox: 'read-only' })).thread.id
  c.say = (tool, input) => c.request('turn/start', { threadId: c.thread, input: [{ type: 'text', text: `CALL ${tool} ${JSON.stringify(input)}` }] })
  c.asked = () => until('a request', () => c.requests.shift())
  c.over = async (before) => until('the end of the turn', () => c.done > before)
  return c
}

const pending = () => until('an ask', () => asks()[0])
const ended = (id) => until('the end', () => asks('resolved').find((row) => row.ask.id === id))
function late(id, ...answer) {
  if (spawnSync(askbus, ['answer', id, ...answer], { env }).status === 0) throw new Error('a late answer was accepted')
}

let c
let n = 0
const command = () => ({ cmd: `echo ran ${++n} > /dev/null && echo ran-${n}; touch ./none` })
const patch = (name) => ({ cmd: `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ${name}\n+hello\n*** End Patch\nEOF` })
const questions = () => ({ questions: [{ id: 'q', header: 'H', question: 'Which?', options: [{ label: 'a, b', description: 'x' }, { label: 'c', description: 'y' }] }] })

// elsewhere: the tool's call is answered on another screen, and the client's dialog closes.
async function elsewhere(tool, input, look, ...answer) {
  await c.say(tool, input)
  const { id } = await c.asked()
  const { ask } = await pending()
  await look(ask)
  run(['answer', ask.id, ...answer.map((part) => part.replace('QUESTION', ask.questions[0].id))])
  await until('the end of the dialog', () => c.resolved.includes(id))
  c.send({ id, result: { decision: 'cancel' } }) // too late: nothing happens
}

const paths = {
  'command allowed elsewhere, once': async () => {
    await elsewhere('exec_command', command(), (ask) => {
      if (!ask.context.includes('touch ./none') || !ask.context.includes(project)) throw new Error(ask.context)
      same(ask.questions[0].options.map((o) => o.id).join(' '), 'allow refuse stop')
      same(ask.agent.name, 'Codex')
    }, '--select', 'permission=allow')
    await until('the output', () => told().includes(`ran-${n}`))
  },
  'command refused elsewhere': async () => {
    await elsewhere('exec_command', command(), () => {}, '--select', 'permission=refuse')
    await until('the refusal', () => told().includes('rejected by user'))
  },
  'command refused and stopped elsewhere': async () => {
    const before = c.done
    await elsewhere('exec_command', command(), () => {}, '--select', 'permission=stop')
    await c.over(before)
  },
  'command allowed in the client': async () => {
    await c.say('exec_command', command())
    const { id, params } = await c.asked()
    same(params.command.includes('touch ./none'), true)
    const { ask } = await pending()
    c.send({ id, result: { decision: 'accept' } })
    const { outcome } = await ended(ask.id)
    same(`${outcome.status} ${outcome.by.proof} ${outcome.answers[0].selected}`, 'answered host-dialog allow')
    late(ask.id, '--select', 'permission=refuse')
    await until('the output', () => told().includes(`ran-${n}`))
  },
  'command that nobody decides in time: the client decides': async () => {
    const other = await client(['--timeout', '1s'])
    await other.say('exec_command', command())
    const { id } = await other.asked()
    await until('the expiry', () => asks('resolved').some((row) => row.outcome.status === 'expired'))
    other.send({ id, result: { decision: 'accept' } })
    await until('the output', () => told().includes(`ran-${n}`))
    other.child.stdin.end()
  },
  'lasting rule, only with a proof': async () => {
    const other = await client(['--min-proof', 'os'])
    await other.say('exec_command', { cmd: 'touch lasting-rule' })
    const { id } = await other.asked()
    const { ask } = await pending()
    same(ask.questions[0].options.map((o) => o.id).join(' '), 'allow scope-0 refuse stop')
    run(['answer', ask.id, '--select', 'permission=scope-0'])
    await until('the end of the dialog', () => other.resolved.includes(id))
    await until('the rule', () => readFileSync(join(env.CODEX_HOME, 'rules', 'default.rules'), 'utf8').includes('touch'))
    other.child.stdin.end()
  },
  'file change allowed elsewhere': async () => {
    await elsewhere('exec_command', patch('new.txt'), (ask) => {
      if (!ask.context.includes('+hello') || !ask.questions[0].text.includes('new.txt')) throw new Error(JSON.stringify(ask))
    }, '--select', 'permission=allow')
    await until('the file', () => told().includes('A new.txt') && readFileSync(join(project, 'new.txt'), 'utf8') === 'hello\n')
  },
  'file change refused elsewhere': async () => {
    await elsewhere('exec_command', patch('other.txt'), () => {}, '--select', 'permission=refuse')
    await until('the refusal', () => told().includes('rejected'))
  },
  'question answered elsewhere': async () => {
    await elsewhere('request_user_input', questions(), () => {}, '--reply', '1')
    await until('the answer', () => told().includes('a, b'))
  },
  'question answered elsewhere in own words': async () => {
    await elsewhere('request_user_input', questions(), () => {}, '--other', 'QUESTION=neither "of" them')
    await until('the answer', () => told().includes('neither'))
  },
  'question declined elsewhere, with a reason': async () => {
    await elsewhere('request_user_input', questions(), () => {}, '--decline', 'not now')
    await until('the reason', () => told().includes('not now'))
  },
  'question answered in the client': async () => {
    await c.say('request_user_input', questions())
    const { id } = await c.asked()
    const { ask } = await pending()
    c.send({ id, result: { answers: { q: { answers: ['c'] } } } })
    same((await ended(ask.id)).outcome.answers[0].selected.length, 1)
    await until('the answer', () => told().includes('\\"c\\"'))
  },
  'question whose turn is interrupted in the client': async () => {
    const before = c.done
    await c.say('request_user_input', questions())
    await c.asked()
    const { ask } = await pending()
    await c.request('turn/interrupt', { threadId: c.thread, turnId: c.turn })
    same((await ended(ask.id)).outcome.status, 'withdrawn')
    await c.over(before)
  },
  'form of an MCP server answered elsewhere': async () => {
    await elsewhere('mcp__everything/trigger_elicitation_request', {}, (ask) => {
      if (ask.questions.length < 5) throw new Error(JSON.stringify(ask))
    }, '--decline', 'no')
    await until('the decline', () => /decline/i.test(told()))
  },
  'MCP tool allowed elsewhere': async () => {
    const other = await client([], { CODEX_HOME: join(dir, 'home', 'prompting') })
    await other.say('mcp__everything/echo', { message: 'hi there' })
    const { id } = await other.asked()
    const { ask } = await pending()
    if (!ask.context.includes('hi there') || !ask.questions[0].text.includes('everything')) throw new Error(JSON.stringify(ask))
    run(['answer', ask.id, '--select', 'permission=allow'])
    await until('the end of the dialog', () => other.resolved.includes(id))
    await until('the result', () => told().includes('Echo: hi there'))
    other.child.stdin.end()
  },
  'client killed: withdrawn': async () => {
    const other = await client()
    await other.say('exec_command', command())
    const { ask } = await pending()
    other.child.stdin.destroy()
    same((await ended(ask.id)).outcome.status, 'withdrawn')
  },
  'bus killed: the client decides': async () => {
    bus.kill('SIGKILL')
    await c.say('exec_command', command())
    const { id } = await c.asked()
    c.send({ id, result: { decision: 'accept' } })
    await until('the output', () => told().includes(`ran-${n}`))
  },
}

let bus
let failed = 0
try {
  mkdirSync(project, { recursive: true })
  const model = spawn(process.execPath, [join(here, 'responses.mjs'), log], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(model)
  const port = await new Promise((done) => model.stdout.once('data', (data) => done(String(data).trim())))
  for (const [home, mode] of [[env.CODEX_HOME, 'auto'], [join(dir, 'home', 'prompting'), 'prompt']]) {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'config.toml'), `model = "m"
model_provider = "scripted"
[features]
default_mode_request_user_input = true
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "responses"
[mcp_servers.everything]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(mcpServer)}]
default_tools_approval_mode = "${mode}"
`)
  }
  bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(bus)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  c = await client()
  for (const [path, look] of Object.entries(paths)) {
    const before = c.done
    try {
      await look()
      for (const row of bus.exitCode === null && bus.signalCode === null ? asks() : []) throw new Error('left open: ' + row.ask.id)
      console.log(`| codex: app-server: ${path} | holds |`)
    } catch (error) {
      failed++
      console.log(`| codex: app-server: ${path} | ${String(error.message).replaceAll('\n', ' ').slice(0, 400)} |`)
    }
    if (c.requests.length) c.requests.length = 0
    await Promise.race([until('an idle thread', () => c.done > before), sleep(3000)]).catch(() => {})
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(failed ? 1 : 0)
