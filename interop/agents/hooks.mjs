// Runs the terminal programs whose permission prompts "askbus hook install" puts on every screen, in tmux, each against a
// scripted model (responses.mjs, chat.mjs) and one bus, and says for each path what held. No account is needed.
//
// node hooks.mjs BIN ASKBUS [AGENT]    the directory of the agents' programs (node_modules/.bin), the program, and the only agent to run
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [bin, askbus] = process.argv.slice(2, 4).map((path) => resolve(path))
const only = process.argv[4] // the only agent to run
const here = dirname(fileURLToPath(import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'askbus-hooks-'))
const project = join(dir, 'project')
const home = join(dir, 'home')
const children = []
const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, '.config'), ASKBUS_DIR: join(dir, 'bus'), TERM: 'xterm-256color', LANG: 'C.UTF-8', COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'gpt-x', OPENAI_API_KEY: 'x', OPENAI_MODEL: 'm' }
const run = (program, args) => execFileSync(program, args, { env, cwd: project, encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] })
const tmux = (...args) => run('tmux', ['-S', join(dir, 'tmux'), '-f', '/dev/null', ...args])
const screen = (name) => tmux('capture-pane', '-p', '-t', name)
const keys = (name, ...args) => tmux('send-keys', '-t', name, ...args)
const asks = (state = 'pending') => JSON.parse(run(askbus, ['list', '--state', state, '--output', 'json'])).items
const requests = (log) => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)) : [])

async function until(what, look) {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(200)) {
    const value = await look()
    if (value) return value
  }
  throw new Error('never: ' + what)
}

async function server(script, log) {
  const model = spawn(process.execPath, [join(here, script), log], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(model)
  return `http://127.0.0.1:${await new Promise((done) => model.stdout.once('data', (data) => done(String(data).trim())))}/v1`
}

// up starts the bus, or starts it again.
async function up() {
  const bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(bus)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  return bus
}

const [chat, responses] = [join(dir, 'chat.log'), join(dir, 'responses.log')]
// Each agent: its command, how its first screen is left, when it is ready, its calls, and its dialog with the key for yes.
const agents = {
  codex: {
    log: responses, command: 'codex', first: ['Hooks need review', 'Down', '› 2. Trust all'], ready: 'Ask Codex', dialog: 'Would you like to run', yes: ['y'], file: '.codex/hooks.json',
    call: (command) => ['exec_command', { cmd: command, sandbox_permissions: 'require_escalated', justification: 'it must' }],
    edit: ['exec_command', { cmd: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: notes.txt\n+hello\n*** End Patch\nEOF\n" }], shows: '+hello',
  },
  qwen: {
    log: chat, command: 'qwen --auth-type openai --approval-mode default', ready: 'Type your message', dialog: 'Yes, allow once', yes: ['Enter'], file: '.qwen/settings.json',
    call: (command) => ['run_shell_command', { command, is_background: false, description: 'd' }],
    edit: ['write_file', { file_path: join(project, 'notes.txt'), content: 'hello' }], shows: '+hello',
    question: ['ask_user_question', { questions: [{ question: 'Which?', header: 'H', multiSelect: false, options: [{ label: 'a, b', description: 'x' }, { label: 'c', description: 'y' }] }] }],
  },
  copilot: {
    log: chat, command: 'copilot', first: ['Confirm folder trust', 'Down', '❯ 2. Yes, and remember'], ready: '/ commands', dialog: 'Do you want to run this command', yes: ['Enter'], file: '.copilot/hooks/askbus.json',
    call: (command) => ['bash', { command, description: 'd' }],
    edit: ['apply_patch', { input: '*** Begin Patch\n*** Add File: notes.txt\n+hello\n*** End Patch' }], shows: '+hello',
  },
}

// open starts an agent in a terminal of its own.
async function open(agent, name) {
  tmux('new-session', '-d', '-s', name, '-x', '140', '-y', '50', `cd ${project} && exec ${join(bin, agent.command)}`)
  if (agent.first && name === 'a') {
    const [begins, key, chosen] = agent.first
    await until(begins, () => screen(name).includes(begins))
    await sleep(1000)
    keys(name, key)
    await until(chosen, () => screen(name).includes(chosen))
    keys(name, 'Enter')
    await until('the end of the first screen', () => !screen(name).includes(begins))
  }
  await until('a prompt', () => screen(name).includes(agent.ready)).catch((error) => {
    throw new Error(`${error.message} in ${screen(name).replace(/\s+/g, ' ')}`)
  })
  await sleep(3000)
}

async function say(agent, name, [tool, input]) {
  const json = JSON.stringify(input).replace(/[^ -~]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
  await until('an idle prompt', () => !/esc (esc )?(to )?(interrupt|cancel)/.test(screen(name)))
  const before = requests(agent.log).length
  keys(name, '-l', `CALL ${tool} ${json}`)
  for (let tries = 0; tries < 5 && requests(agent.log).length === before; tries++) {
    await sleep(1000)
    keys(name, 'Enter') // an Enter too soon is part of a paste
    for (let i = 0; i < 20 && requests(agent.log).length === before; i++) await sleep(100)
  }
}

const pending = (but = []) => until('an ask', () => asks().find((row) => !but.includes(row.ask.id)))
// told waits until a model was told something of a tool call.
const told = (agent, text) => until(`told ${text}: ${JSON.stringify(requests(agent.log).at(-1)).slice(-300)}`, () => requests(agent.log).some((r) => (r.messages ?? r.input).some((m) => (m.role === 'tool' || m.type?.endsWith('_output')) && JSON.stringify(m).includes(text))))
let n = 0

// allow answers the dialog with yes. A key that comes while the dialog is being drawn is lost, and is pressed again.
async function allow(agent) {
  const ran = () => existsSync(join(project, `ran-${n}`))
  for (let tries = 0; tries < 5 && !ran() && screen('a').includes(agent.dialog); tries++) {
    keys('a', ...agent.yes)
    for (let i = 0; i < 25 && !ran(); i++) await sleep(200)
  }
  await until('the command ran', ran)
}

const paths = (agent) => ({
  'permission allowed elsewhere': async () => {
    await say(agent, 'a', agent.call(`touch ran-${++n}; echo ran "星期五"`))
    const { ask } = await pending()
    if (!ask.context.includes(`touch ran-${n}; echo ran "星期五"`) || ask.questions[0].options.length !== 2) throw new Error('the card: ' + JSON.stringify(ask))
    run(askbus, ['answer', ask.id, '--reply', '1'])
    await until('the command ran', () => existsSync(join(project, `ran-${n}`)))
  },
  'permission refused elsewhere, with a reason': async () => {
    await say(agent, 'a', agent.call(`touch ran-${++n}`))
    run(askbus, ['answer', (await pending()).ask.id, '--select', 'permission=refuse', '--note', 'permission=not on a 星期五'])
    await told(agent, 'not on a 星期五')
    if (existsSync(join(project, `ran-${n}`))) throw new Error('it ran')
  },
  'an edit shows its diff': async () => {
    await say(agent, 'a', agent.edit)
    const { ask } = await pending()
    if (!/^```diff\n[^`]*\+hello/.test(ask.context)) throw new Error('the card: ' + ask.context)
    run(askbus, ['answer', ask.id, '--reply', '1'])
    await until('the file', () => existsSync(join(project, 'notes.txt')))
    rmSync(join(project, 'notes.txt'))
  },
  ...(agent.question && {
    'question answered elsewhere, as the reason of a refusal': async () => {
      await say(agent, 'a', agent.question)
      run(askbus, ['answer', (await pending()).ask.id, '--reply', '1'])
      await told(agent, '\\"Which?\\"=\\"a, b\\"')
    },
  }),
  'two sessions in one directory: each has its own answer': async () => {
    await open(agent, 'b')
    await say(agent, 'a', agent.call(`touch ran-${n + 1}`))
    const one = await pending()
    await say(agent, 'b', agent.call(`touch ran-${n + 2}`))
    const two = await pending([one.ask.id])
    if (one.session === two.session) throw new Error('one session')
    run(askbus, ['answer', two.ask.id, '--select', 'permission=refuse', '--note', `permission=no ${n + 2}`])
    run(askbus, ['answer', one.ask.id, '--reply', '1'])
    await until('the first ran', () => existsSync(join(project, `ran-${n + 1}`)))
    await told(agent, `no ${n + 2}`)
    n += 2
    if (existsSync(join(project, `ran-${n}`))) throw new Error('the second ran')
  },
  'Esc while others are asked withdraws the ask': async () => {
    await say(agent, 'a', agent.call(`touch ran-${++n}`))
    const { ask } = await pending()
    keys('a', 'Escape')
    await until('the end of the ask', () => !asks().some((row) => row.ask.id === ask.id))
    const idle = () => !/esc (esc )?(to )?(interrupt|cancel)/.test(screen('a'))
    await until('a dialog or the end of the turn', () => idle() || screen('a').includes(agent.dialog))
    if (!idle()) keys('a', 'Escape') // Copilot's Esc ends the hook, and its dialog opens
    await until('the end of the turn', idle)
    if (existsSync(join(project, `ran-${n}`))) throw new Error('it ran')
  },
  'nobody answers: the dialog opens after --forms': async () => {
    await say(agent, 'a', agent.call(`touch ran-${++n}`))
    const { ask } = await pending()
    await until('the dialog', () => screen('a').includes(agent.dialog))
    if (asks().length) throw new Error('it is still asked: ' + ask.id)
    await allow(agent)
  },
  'no bus: the dialog opens': async () => {
    bus.kill('SIGKILL')
    await say(agent, 'a', agent.call(`touch ran-${++n}`))
    await until('the dialog', () => screen('a').includes(agent.dialog))
    await allow(agent)
    bus = await up()
  },
})

let bus
let failed = 0
try {
  mkdirSync(project, { recursive: true })
  mkdirSync(join(home, '.codex'), { recursive: true })
  env.COPILOT_PROVIDER_BASE_URL = env.OPENAI_BASE_URL = await server('chat.mjs', chat)
  writeFileSync(join(home, '.codex/config.toml'), `model = "m"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
[features]
daemon_auto_start = false
[model_providers.scripted]
name = "scripted"
base_url = "${await server('responses.mjs', responses)}"
wire_api = "responses"
[projects."${project}"]
trust_level = "trusted"
`)
  bus = await up()
  for (const [name, agent] of Object.entries(agents)) {
    if (!existsSync(join(bin, name)) || (only && only !== name)) continue
    run(askbus, ['hook', 'install', name, '--write'])
    const file = join(home, agent.file)
    writeFileSync(file, readFileSync(file, 'utf8').replace(`--host ${name} `, `--host ${name} --forms 60s `)) // long enough to type in a second session
    await open(agent, 'a')
    for (const [path, look] of Object.entries(paths(agent))) {
      try {
        await look()
        for (const row of asks()) throw new Error('left open: ' + row.ask.id)
        console.log(`| ${name}: hook: ${path} | holds |`)
      } catch (error) {
        failed++
        console.log(`| ${name}: hook: ${path} | ${error.message.replaceAll('\n', ' ').slice(0, 400)} |`)
        if (process.env.VERBOSE) appendFileSync(process.env.VERBOSE, `== ${name} ${path}\n${screen('a')}\n`)
            if (bus.signalCode !== null) bus = await up()
        for (const row of asks()) run(askbus, ['answer', row.ask.id, '--decline', 'next'])
        keys('a', 'Escape')
      }
      await sleep(1500)
    }
    tmux('kill-server')
  }
} finally {
  try {
    tmux('kill-server')
  } catch {} // there is none
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(failed ? 1 : 0)
