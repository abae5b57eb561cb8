// Runs the server of opencode against a scripted model (chat.mjs), and "askbus opencode" beside it, with a bus of its
// own, and says for each path what held. No account is needed.
//
// node opencode.mjs BIN ASKBUS    the directory of opencode's program (node_modules/.bin), and the program
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [bin, askbus] = process.argv.slice(2).map((path) => resolve(path))
const here = dirname(fileURLToPath(import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'askbus-opencode-'))
const project = join(dir, 'project')
const log = join(dir, 'model.log')
const children = []
const password = 'a password'
const env = {
  PATH: process.env.PATH, HOME: join(dir, 'home'), XDG_CONFIG_HOME: join(dir, 'home', '.config'), ASKBUS_DIR: join(dir, 'bus'), TERM: 'xterm-256color', LANG: 'C.UTF-8',
  OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_SERVER_PASSWORD: password,
}
const run = (args) => execFileSync(askbus, args, { env, cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const asks = (state = 'pending') => JSON.parse(run(['list', '--state', state, '--output', 'json'])).items
const requests = () => readFileSync(log, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line))
const told = () => requests().flatMap((r) => r.messages).filter((m) => m.role === 'tool').at(-1)?.content

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

// freePort returns a port for opencode, whose --port 0 is a fixed one.
const freePort = () => new Promise((done) => {
  const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)) })
})

let url, server, bridge
async function serve() {
  server = spawn(join(bin, 'opencode'), ['serve', '--hostname', '127.0.0.1', '--port', new URL(url).port], { env, cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(server)
  await new Promise((done) => server.stdout.on('data', (data) => String(data).includes('listening') && done()))
}

// stand starts a bridge and returns when it follows the server.
async function stand(args = [], vars = {}) {
  const child = spawn(askbus, ['opencode', '--url', url, ...args], { env: { ...env, ...vars }, cwd: project, stdio: ['ignore', 'ignore', 'pipe'] })
  children.push(child)
  child.said = ''
  child.stderr.on('data', (data) => { child.said += data })
  await until('a bridge', () => child.exitCode !== null || child.said.includes('asking what'))
  return child
}

async function stop(child, signal) {
  const over = new Promise((done) => child.once('close', done))
  child.kill(signal)
  await over
}

async function api(path, body, method = 'POST') {
  const headers = { authorization: 'Basic ' + Buffer.from('opencode:' + password).toString('base64'), 'content-type': 'application/json' }
  const res = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) })
  const text = await res.text()
  if (!res.ok) throw new Error(path + ' ' + res.status + ' ' + text)
  return text ? JSON.parse(text) : undefined
}
const call = (tool, input) => `CALL ${tool} ${JSON.stringify(input)}`

// say begins a session with a tool call of the model, and returns the session's id; sayAPI uses the newer API.
async function say(tool, input) {
  const { id } = await api('/session', { title: 'a test' })
  await api(`/session/${id}/prompt_async`, { parts: [{ type: 'text', text: call(tool, input) }] })
  return id
}
async function sayAPI(tool, input) {
  const { data: { id } } = await api('/api/session', {})
  await api(`/api/session/${id}/prompt`, { prompt: { text: call(tool, input) } })
  return id
}

const pending = () => until('an ask', () => asks()[0])
const ended = (id) => until('the end', () => asks('resolved').find((row) => row.ask.id === id))
const idle = (session) => until('the end of the turn', async () => !(await api('/session/status', undefined, 'GET'))[session])
function late(id, ...answer) {
  if (spawnSync(askbus, ['answer', id, ...answer], { env }).status === 0) throw new Error('a late answer was accepted')
}

let n = 0
const command = () => ({ command: `npm view ./none${++n} >/dev/null 2>&1; echo ran ${n}`, description: 'look' })
const question = (text = 'Which?') => ({ questions: [{ question: text, header: 'H', options: [{ label: 'a, b', description: 'x' }, { label: 'c', description: 'y' }] }] })

const paths = {
  'question answered elsewhere': async () => {
    await say('question', question())
    const { ask } = await pending()
    run(['answer', ask.id, '--reply', '1'])
    await until('the answer', () => told()?.includes('"Which?"="a, b"'))
  },
  'two questions, several labels with a comma, and own words, elsewhere': async () => {
    await say('question', { questions: [{ ...question('One?').questions[0], multiple: true }, question('Two?').questions[0]] })
    const { ask } = await pending()
    run(['answer', ask.id, '--select', `${ask.questions[0].id}=a, b`, '--select', `${ask.questions[0].id}=c`, '--other', `${ask.questions[1].id}=neither`])
    await until('the answer', () => told()?.includes('"One?"="a, b, c", "Two?"="neither"'))
  },
  'question declined elsewhere': async () => {
    const session = await say('question', question())
    const { ask } = await pending()
    run(['answer', ask.id, '--decline', 'not now'])
    await idle(session)
    same((await api('/question', undefined, 'GET')).length, 0)
  },
  'question answered in opencode first': async () => {
    await say('question', question())
    const { ask } = await pending()
    const [{ id }] = await api('/question', undefined, 'GET')
    await api(`/question/${id}/reply`, { answers: [['c']] })
    const { outcome } = await ended(ask.id)
    same(outcome.status + ': ' + outcome.reason, 'withdrawn: decided in opencode')
    late(ask.id, '--reply', '1')
    await until('the answer', () => told()?.includes('"Which?"="c"'))
  },
  'question whose turn is stopped in opencode': async () => {
    const session = await say('question', question())
    const { ask } = await pending()
    await api(`/session/${session}/abort`)
    same((await ended(ask.id)).outcome.status, 'withdrawn')
  },
  'permission allowed elsewhere, once': async () => {
    await say('bash', command())
    const { ask } = await pending()
    if (!ask.context.includes(`npm view ./none${n} >/dev/null`) || !ask.context.includes(project)) throw new Error(ask.context)
    same(ask.questions[0].options.map((o) => o.id).join(' '), 'allow refuse stop')
    run(['answer', ask.id, '--select', 'permission=allow'])
    await until('the result', () => told()?.includes(`ran ${n}`))
  },
  'permission refused elsewhere, with a reason': async () => {
    await say('bash', command())
    const { ask } = await pending()
    run(['answer', ask.id, '--select', 'permission=refuse', '--note', 'permission=Use "yarn",\nplease.'])
    await until('the reason', () => told()?.endsWith('following feedback: Use "yarn",\nplease.'))
  },
  'permission refused elsewhere, and stopped': async () => {
    const session = await say('bash', command())
    const { ask } = await pending()
    const before = requests().length
    run(['answer', ask.id, '--select', 'permission=stop'])
    await idle(session)
    same(requests().length, before)
  },
  'permission decided in opencode first': async () => {
    await say('bash', command())
    const { ask } = await pending()
    const [{ id }] = await api('/permission', undefined, 'GET')
    await api(`/permission/${id}/reply`, { reply: 'once' })
    same((await ended(ask.id)).outcome.reason, 'decided in opencode')
    late(ask.id, '--select', 'permission=refuse')
    await until('the result', () => told()?.includes(`ran ${n}`))
  },
  'permission whose turn is stopped in opencode': async () => {
    const session = await say('bash', command())
    const { ask } = await pending()
    await api(`/session/${session}/abort`)
    same((await ended(ask.id)).outcome.status, 'withdrawn')
  },
  'an edit shows its diff': async () => {
    writeFileSync(join(project, 'f.txt'), 'one\ntwo\n')
    await say('edit', { filePath: join(project, 'f.txt'), oldString: 'two', newString: '\u202ethree' })
    const { ask } = await pending()
    if (!ask.context.includes('-two\n+⟨U+202E⟩three')) throw new Error(ask.context)
    run(['answer', ask.id, '--select', 'permission=allow'])
    await until('the file', () => readFileSync(join(project, 'f.txt'), 'utf8').includes('three'))
  },
  "sessions of the newer API: a question, a permission, and opencode's own answer": async () => {
    await sayAPI('question', question('New?'))
    const first = await pending()
    run(['answer', first.ask.id, '--reply', '2'])
    await until('the answer', () => told()?.includes('"New?"="c"'))
    await sayAPI('bash', command())
    const second = await pending()
    if (!second.ask.context.includes(`npm view ./none${n} >/dev/null`)) throw new Error(second.ask.context)
    run(['answer', second.ask.id, '--select', 'permission=allow'])
    await until('the result', () => told()?.includes(`ran ${n}`))
    const session = await sayAPI('question', question())
    const third = await pending()
    const { data: [{ id }] } = await api(`/api/session/${session}/question`, undefined, 'GET')
    await api(`/api/session/${session}/question/${id}/reject`)
    same((await ended(third.ask.id)).outcome.reason, 'decided in opencode')
  },
  'two bridges ask once, and one goes on when the other stops': async () => {
    const other = await stand()
    await say('question', question())
    const { ask } = await pending()
    await sleep(1000)
    same(asks().length, 1)
    await stop(other, 'SIGTERM')
    same((await ended(ask.id)).outcome.reason, 'the bridge to opencode was stopped')
    run(['answer', (await pending()).ask.id, '--reply', '1'])
    await until('the answer', () => told()?.includes('"Which?"="a, b"'))
  },
  'the bridge is killed: the next one has the same ask, and delivers what was answered meanwhile': async () => {
    await say('question', question('Killed?'))
    await say('bash', command())
    await until('two asks', () => asks().length === 2)
    const [first, second] = asks().map((row) => row.ask)
    await stop(bridge, 'SIGKILL')
    const of = (permission) => [first, second].find((ask) => (ask.questions[0].id === 'permission') === permission)
    run(['answer', of(false).id, '--reply', '1'])
    bridge = await stand()
    await until('the answer', () => requests().some((r) => r.messages.some((m) => m.role === 'tool' && m.content.includes('"Killed?"="a, b"'))))
    await sleep(500)
    same(asks().map((row) => row.ask.id).join(), of(true).id)
    run(['answer', of(true).id, '--select', 'permission=allow'])
    await until('the result', () => told()?.includes(`ran ${n}`))
  },
  'SIGTERM of the bridge withdraws what is open': async () => {
    const session = await say('question', question())
    const { ask } = await pending()
    await stop(bridge, 'SIGTERM')
    same((await ended(ask.id)).outcome.reason, 'the bridge to opencode was stopped')
    await api(`/session/${session}/abort`)
    bridge = await stand()
  },
  'the server is killed and started again': async () => {
    await say('question', question())
    const { ask } = await pending()
    await stop(server, 'SIGKILL')
    await serve()
    same((await ended(ask.id)).outcome.status, 'withdrawn')
    await say('question', question('Again?'))
    const again = await pending()
    run(['answer', again.ask.id, '--reply', '1'])
    await until('the answer', () => told()?.includes('"Again?"="a, b"'))
  },
  '"always" is offered with --min-proof os only, and opencode does not ask again': async () => {
    await stop(bridge, 'SIGTERM')
    bridge = await stand(['--min-proof', 'os'])
    await say('bash', { command: 'npm view ./some; true', description: 'look' })
    const { ask } = await pending()
    if (!ask.questions[0].options[1].label.includes('npm view ./some *')) throw new Error(JSON.stringify(ask.questions[0].options))
    run(['answer', ask.id, '--select', 'permission=scope-0'])
    await until('the result', () => told() !== undefined)
    const before = requests().length
    await say('bash', { command: 'npm view ./some --json; true', description: 'look' })
    await until('no second ask', () => requests().length >= before + 2)
    same(asks().length, 0)
  },
  'a wrong password is said': async () => {
    const child = await stand([], { OPENCODE_SERVER_PASSWORD: 'wrong' })
    await until('the end', () => child.exitCode !== null)
    if (!child.said.includes('set OPENCODE_SERVER_PASSWORD')) throw new Error(child.said)
  },
}

let failed = 0
try {
  mkdirSync(project, { recursive: true })
  mkdirSync(env.HOME)
  writeFileSync(log, '')
  const model = spawn(process.execPath, [join(here, 'chat.mjs'), log], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(model)
  const port = await new Promise((done) => model.stdout.once('data', (data) => done(String(data).trim())))
  const provider = { npm: '@ai-sdk/openai-compatible', name: 'Scripted', options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'x' }, models: { m: { name: 'm' } } }
  writeFileSync(join(project, 'opencode.json'), JSON.stringify({ model: 'scripted/m', small_model: 'scripted/m', share: 'disabled', autoupdate: false, provider: { scripted: provider }, permission: { bash: 'ask', edit: 'ask' } }))
  const bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(bus)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  url = `http://127.0.0.1:${await freePort()}`
  await serve()
  bridge = await stand()
  for (const [name, path] of Object.entries(paths)) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue
    try {
      await path()
      console.log(`| opencode: ${name} | holds |`)
    } catch (error) {
      failed++
      console.log(`| opencode: ${name} | ${error.message.replaceAll('\n', ' ').slice(0, 400)} |`)
      console.error(bridge.said.slice(-2000))
      for (const { ask } of asks()) spawnSync(askbus, ['answer', ask.id, '--decline', 'next'], { env })
    }
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(failed ? 1 : 0)
