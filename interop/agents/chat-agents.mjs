// Runs agents that speak the Chat Completions API, without a terminal, against a scripted model (chat.mjs) and a bus of
// its own, and says for each path what held.
//
// node chat-agents.mjs BIN ASKBUS    the directory of the agents' programs (node_modules/.bin), and the program
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [bin, askbus] = process.argv.slice(2).map((path) => resolve(path))
const here = dirname(fileURLToPath(import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'askbus-chat-'))
const project = join(dir, 'project')
const log = join(dir, 'model.log')
const children = []
const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), XDG_CONFIG_HOME: join(dir, 'home', '.config'), ASKBUS_DIR: join(dir, 'bus'), TERM: 'dumb', LANG: 'C.UTF-8', OPENAI_API_KEY: 'x', OPENAI_MODEL: 'm' }
const run = (args) => execFileSync(askbus, args, { env, cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const input = JSON.stringify({ question: 'Which?', options: [{ label: 'a, b' }, { label: 'c' }], wait_seconds: 40 })

// last returns the last request to the model.
const last = () => JSON.parse(readFileSync(log, 'utf8').split('\n').at(-2))
const told = () => {
  const { content } = last().messages.at(-1)
  return typeof content === 'string' ? content : content.map((part) => part.text).join('\n')
}

async function until(what, look) {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(200)) {
    const value = look()
    if (value) return value
  }
  throw new Error('never: ' + what)
}

// start runs an agent with a prompt; the promise is that of its end.
function start(program, args) {
  const child = spawn(join(bin, program), args, { env, cwd: project, stdio: 'ignore' })
  children.push(child)
  return new Promise((done) => child.once('close', done))
}

async function answered(over, ...answer) {
  const { ask } = await until('an ask', () => JSON.parse(run(['list', '--output', 'json'])).items[0])
  run(['answer', ask.id, ...answer])
  await over
}

function includes(text) {
  if (!told().includes(text)) throw new Error('the model is told ' + told().slice(0, 300))
}

const qwen = (prompt) => start('qwen', ['--auth-type', 'openai', '-p', prompt])
const paths = {
  'qwen: without a terminal and without --trust: the tool is refused': async () => {
    run(['mcp', 'install', 'qwen', '--write'])
    await qwen(`CALL mcp__askbus__AskUserQuestion ${input}`)
    includes('requires permission to use "mcp__askbus__AskUserQuestion"')
    if (JSON.parse(run(['list', '--output', 'json'])).items.length) throw new Error('somebody was asked')
  },
  'qwen: without a terminal, with --trust: answered elsewhere': async () => {
    run(['mcp', 'install', 'qwen', '--trust', '--write'])
    await answered(qwen(`CALL mcp__askbus__AskUserQuestion ${input}`), '--reply', '1')
    includes('"Which?"="a, b"')
  },
  'qwen: declined elsewhere, with a reason': async () => {
    await answered(qwen(`CALL mcp__askbus__AskUserQuestion ${input}`), '--decline', 'not "now"')
    includes('not "now"')
  },
}

let failed = 0
try {
  mkdirSync(project, { recursive: true })
  mkdirSync(env.HOME)
  const model = spawn(process.execPath, [join(here, 'chat.mjs'), log], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(model)
  env.OPENAI_BASE_URL = `http://127.0.0.1:${await new Promise((done) => model.stdout.once('data', (data) => done(String(data).trim())))}/v1`
  const bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(bus)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  for (const [name, path] of Object.entries(paths)) {
    if (!existsSync(join(bin, name.split(':')[0]))) continue
    try {
      await path()
      console.log(`| ${name} | holds |`)
    } catch (error) {
      failed++
      console.log(`| ${name} | ${error.message.replaceAll('\n', ' ').slice(0, 400)} |`)
      for (const { ask } of JSON.parse(run(['list', '--output', 'json'])).items) run(['answer', ask.id, '--decline', 'next'])
    }
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(failed ? 1 : 0)
