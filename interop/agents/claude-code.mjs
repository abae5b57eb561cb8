// Runs Claude Code itself against a scripted model (model.mjs) and a bus of its own, in tmux, and says for each path
// what held. No account is needed.
//
// node claude-code.mjs CLAUDE ASKBUS SERVER    the two programs, and a script of an MCP server that has forms
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [claude, askbus, everything] = process.argv.slice(2).map((path) => resolve(path))
const here = dirname(fileURLToPath(import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'askbus-claude-'))
const project = join(dir, 'project')
const tools = join(dir, 'tools')
const forms = join(dir, 'forms') // a project with a foreign MCP server
const key = 'sk-ant-api03-' + 'a'.repeat(40)
const log = join(dir, 'model.log')
const children = []
const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), TERM: 'xterm-256color', LANG: 'C.UTF-8', ASKBUS_DIR: join(dir, 'bus'), ANTHROPIC_API_KEY: key, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' }

// until returns the first true value of look, or throws after 30 s with what was awaited.
async function until(what, look) {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(100)) {
    const value = look()
    if (value) return value
  }
  throw new Error('never: ' + what)
}

const run = (program, args, options = {}) => execFileSync(program, args, { env, cwd: project, encoding: 'utf8', timeout: 60_000, ...options })
const tmux = (...args) => run('tmux', ['-S', join(dir, 'tmux'), '-f', '/dev/null', ...args])
const screen = () => tmux('capture-pane', '-p', '-t', 'c')
const requests = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)) : [])
const asks = (state = 'pending') => JSON.parse(run(askbus, ['list', '--state', state, '--output', 'json'])).items
const told = () => requests().flatMap((r) => r.messages).filter((m) => Array.isArray(m.content)).flatMap((m) => m.content).filter((part) => part.type === 'tool_result').at(-1)?.content
const ended = (id) => asks('resolved').find((row) => row.ask.id === id)

async function open(cwd = project, ready = '❯') {
  spawnSync('tmux', ['-S', join(dir, 'tmux'), 'kill-server'])
  rmSync(join(dir, 'tmux'), { force: true })
  await sleep(1000)
  tmux('new-session', '-d', '-s', 'c', '-x', '140', '-y', '60', `cd ${cwd} && exec ${claude} --permission-mode default`)
  await until('a prompt', () => screen().includes(ready))
  await sleep(1000)
}

// up starts the bus, or starts it again with the same ports.
async function up() {
  const bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(bus)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  return bus
}
const killBus = () => children.findLast((child) => child.spawnargs.includes('up')).kill('SIGKILL')

async function say(tool, input) {
  await until('an idle prompt', () => !screen().includes('esc to interrupt'))
  await sleep(1000)
  const json = JSON.stringify(input).replace(/[^ -~]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
  const before = requests().length
  tmux('send-keys', '-t', 'c', '-l', `CALL ${tool} ${json}`)
  for (let tries = 0; tries < 5 && requests().length === before; tries++) {
    await sleep(700)
    tmux('send-keys', '-t', 'c', 'Enter') // an Enter too soon is part of a paste
    for (let i = 0; i < 20 && requests().length === before; i++) await sleep(100)
  }
}

const pending = () => until('an ask', () => asks()[0])
const closed = (text = 'Do you want to proceed?') => until('a closed dialog', () => !screen().slice(-3000).includes(text))
function same(got, want) {
  if (got !== want) throw new Error(`got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
}

let n = 0
const command = () => `npm view ./none${++n} >/dev/null 2>&1; echo ran ${n}`
const question = { questions: [{ question: 'Which?', header: 'H', multiSelect: false, options: [{ label: 'a, b', description: 'x' }, { label: 'c', description: 'y' }] }] }
const hooks = () => readdirSync('/proc').filter((pid) => {
  try {
    return readlinkSync(`/proc/${pid}/exe`) === askbus && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0hook\0')
  } catch {
    return false
  }
})

const paths = {
  'permission allowed elsewhere': async () => {
    await say('Bash', { command: command() })
    const { ask } = await pending()
    run(askbus, ['answer', ask.id, '--select', 'permission=allow'])
    await until('the result', () => told()?.includes(`ran ${n}`))
    await closed()
  },
  'permission refused elsewhere, with a reason': async () => {
    await say('Bash', { command: command() })
    const { ask } = await pending()
    run(askbus, ['answer', ask.id, '--select', 'permission=refuse', '--note', 'permission=Use "yarn",\nplease.'])
    await until('the reason', () => told() === 'Use "yarn",\nplease.')
    await closed()
  },
  'refused elsewhere, and stopped': async () => {
    await say('Bash', { command: command() })
    const { ask } = await pending()
    const before = requests().length
    run(askbus, ['answer', ask.id, '--select', 'permission=stop'])
    await until('the interruption', () => screen().includes('Interrupted'))
    same(requests().length, before)
  },
  'Esc in the dialog of a permission': async () => {
    await open()
    await say('Bash', { command: command() })
    const { ask } = await pending()
    tmux('send-keys', '-t', 'c', 'Escape')
    same((await until('the end', () => ended(ask.id))).outcome.status, 'withdrawn')
    if (spawnSync(askbus, ['answer', ask.id, '--select', 'permission=allow'], { env }).status === 0) throw new Error('a late answer was accepted')
  },
  'allowed in the dialog': async () => {
    await say('Bash', { command: command() })
    const { ask } = await pending()
    await sleep(1500) // an Enter too soon is ignored
    tmux('send-keys', '-t', 'c', 'Enter')
    same((await until('the end', () => ended(ask.id))).outcome.reason, "allowed at the agent's terminal")
    await until('the result', () => told()?.includes(`ran ${n}`))
  },
  'allowed elsewhere for the session': async () => {
    await say('Bash', { command: `npm view ./some; echo first` })
    const { ask } = await pending()
    run(askbus, ['answer', ask.id, '--select', 'permission=scope-0'])
    await until('the result', () => told()?.includes('first'))
    await say('Bash', { command: `npm view ./other` })
    await until('no second ask', () => screen().includes('npm view ./other') && requests().at(-1).reply[0].text === 'done' && JSON.stringify(requests().at(-1).messages).includes('npm view ./other'))
    same(asks().length, 0)
    same(existsSync(join(project, '.claude', 'settings.local.json')), false)
  },
  'an Edit shows its diff': async () => {
    await open()
    writeFileSync(join(project, 'f.txt'), 'one\ntwo\n')
    await say('Write', { file_path: join(project, 'new.txt'), content: 'one\n\u202etwo\n' })
    const { ask } = await pending()
    if (!ask.context.includes('+one\n+⟨U+202E⟩two')) throw new Error(ask.context)
    run(askbus, ['answer', ask.id, '--select', 'permission=allow'])
    await until('the file', () => existsSync(join(project, 'new.txt')))
  },
  'question answered elsewhere': async () => {
    await say('AskUserQuestion', question)
    const { ask } = await pending()
    run(askbus, ['answer', ask.id, '--reply', '1'])
    await until('the answer', () => told()?.includes('"Which?"="a, b"'))
  },
  'several labels with commas, Other and a note, elsewhere': async () => {
    const several = { ...question.questions[0], question: 'Which ones?', multiSelect: true }
    await say('AskUserQuestion', { questions: [several, { ...question.questions[0], question: 'And?' }] })
    const { ask } = await pending()
    const [one, two] = ask.questions.map((q) => q.id)
    run(askbus, ['answer', ask.id, '--select', `${one}=a, b`, '--select', `${one}=c`, '--other', `${two}=say "d, e"`, '--note', `${two}=soon`])
    await until('the answer', () => told()?.includes('"Which ones?"="\"a, b\", c", "And?"="say "d, e"" notes: soon') || (told()?.includes('Which ones?') && console.log(told())))
  },
  'question answered in the dialog': async () => {
    await say('AskUserQuestion', question)
    const { ask } = await pending()
    await until('the dialog', () => screen().includes('Enter to select'))
    await sleep(1500)
    tmux('send-keys', '-t', 'c', 'Enter')
    const { outcome } = await until('the end', () => ended(ask.id))
    same(outcome.status + ' ' + outcome.by?.responder, 'answered native')
  },
  'Esc in the dialog of a question': async () => {
    await say('AskUserQuestion', question)
    const { ask } = await pending()
    await until('the dialog', () => screen().includes('Enter to select'))
    await sleep(1500)
    tmux('send-keys', '-t', 'c', 'Escape')
    await until('the stop of the hook', () => hooks().length === 0)
    const late = spawnSync(askbus, ['answer', ask.id, '--reply', '1'], { env, encoding: 'utf8' })
    if (late.status === 0 || !late.stderr.includes('the agent has left')) throw new Error('a late answer: ' + late.stderr)
    same((await until('the end', () => ended(ask.id))).outcome.status, 'withdrawn')
  },
  'SIGKILL of the agent': async () => {
    await open()
    await say('Bash', { command: command() })
    const { ask } = await pending()
    process.kill(Number(tmux('list-panes', '-t', 'c', '-F', '#{pane_pid}')), 'SIGKILL')
    same((await until('the end', () => ended(ask.id))).outcome.status, 'withdrawn')
    await until('no hook left', () => hooks().length === 0)
  },
  'SIGINT of the agent': async () => {
    await open()
    await say('AskUserQuestion', question)
    const { ask } = await pending()
    await until('the dialog', () => screen().includes('Enter to select'))
    process.kill(Number(tmux('list-panes', '-t', 'c', '-F', '#{pane_pid}')), 'SIGINT')
    same((await until('the end', () => ended(ask.id))).outcome.status, 'withdrawn')
    await until('no hook left', () => hooks().length === 0)
  },
  'kill -9 of the bus while a question is pending: answered elsewhere when it is back': async () => {
    await open()
    await say('AskUserQuestion', question)
    const { ask } = await pending()
    await until('the dialog', () => screen().includes('Enter to select'))
    await sleep(1500) // until its hook waits, too
    killBus()
    await up()
    run(askbus, ['answer', ask.id, '--reply', '1'])
    await until('the answer', () => told()?.includes('"Which?"="a, b"'))
  },
  'kill -9 of the bus while a permission is pending: the dialog goes on': async () => {
    await say('Bash', { command: command() })
    await pending()
    await sleep(1500)
    killBus()
    await sleep(1500) // an Enter too soon is ignored
    tmux('send-keys', '-t', 'c', 'Enter')
    await until('the result', () => told()?.includes(`ran ${n}`))
    await up()
    for (const { session, ask } of asks()) run(askbus, ['withdraw', `${session}/${ask.id}`]) // nobody could tell the bus
  },
  'claude -p: permission allowed elsewhere': async () => {
    const done = spawn(claude, ['-p', '--permission-mode', 'default', 'CALL Bash {"command":"touch here"}'], { env, cwd: project, stdio: 'ignore' })
    children.push(done)
    const { ask } = await pending()
    run(askbus, ['answer', ask.id, '--select', 'permission=allow'])
    await until('its end', () => done.exitCode !== null)
    same(existsSync(join(project, 'here')), true)
  },
  'claude -p --permission-prompt-tool: a permission and a question': async () => {
    const answered = async (call, ...answer) => {
      const done = spawn(claude, [...prompt, call], { env, cwd: project, stdio: 'ignore' })
      children.push(done)
      const { ask } = await pending()
      run(askbus, ['answer', ask.id, ...answer])
      await until('its end', () => done.exitCode !== null)
    }
    await answered('CALL Bash {"command":"touch by-tool"}', '--select', 'permission=allow')
    same(existsSync(join(project, 'by-tool')), true)
    await answered('CALL Bash {"command":"touch not-by-tool"}', '--select', 'permission=refuse', '--note', 'permission=Not "now".')
    same(existsSync(join(project, 'not-by-tool')), false)
    same(told(), 'Not "now".')
    await answered('CALL AskUserQuestion ' + JSON.stringify(question), '--reply', '1')
    if (!told().includes('"Which?"="a, b"')) throw new Error(told())
  },
  'claude -p without a tool to ask with: doctor says it': async () => {
    run(claude, ['-p', '--permission-mode', 'default', 'nothing'])
    const said = run(askbus, ['doctor', '--no-ask', '--output', 'text'])
    if (!said.includes('missing claude code') || !said.includes('--permission-prompt-tool mcp__askbus__PermissionPrompt')) throw new Error(said.slice(-600))
    if (requests().at(-1).tools.includes('AskUserQuestion')) throw new Error('the model has AskUserQuestion')
    run(claude, [...prompt.filter((word) => word !== '--settings' && !word.includes('disableAllHooks')), 'nothing'])
    if (run(askbus, ['doctor', '--no-ask', '--output', 'text']).includes('could ask nobody')) throw new Error('doctor says it of a run that can ask')
  },
  'mcp install claude-code: the dialog preselects not to use it': async () => {
    run(askbus, ['mcp', 'install', 'claude-code', '--trust', '--write'], { cwd: tools })
    await open(tools, 'Continue without using')
    if (!screen().includes('❯ Continue without using this MCP server')) throw new Error(screen())
    tmux('send-keys', '-t', 'c', 'Up')
    await sleep(500)
    tmux('send-keys', '-t', 'c', 'Up')
    await until('the first choice', () => screen().includes('❯ Use this MCP server'))
    tmux('send-keys', '-t', 'c', 'Enter')
    await until('a prompt', () => !screen().includes('New MCP server'))
  },
  'mcp install claude-code --trust: its tool is loaded, runs without a prompt, and replaces the native one': async () => {
    const done = spawn(claude, ['-p', '--permission-mode', 'default', 'CALL mcp__askbus__AskUserQuestion ' + JSON.stringify({ ...question.questions[0], wait_seconds: 40 })], { env, cwd: tools, stdio: 'ignore' })
    children.push(done)
    const { ask } = await pending()
    if (ask.questions[0].id === 'permission') throw new Error('a permission is asked for')
    run(askbus, ['answer', ask.id, '--reply', '1'])
    await until('its end', () => done.exitCode !== null)
    if (!told().includes('a, b')) throw new Error(told())
    const has = requests().at(-1).tools
    same(has.includes('mcp__askbus__AskUserQuestion') && has.includes('mcp__askbus__AwaitAnswer') && !has.includes('AskUserQuestion'), true)
  },
  'form of an MCP server, answered elsewhere': async () => {
    await open(forms)
    await say('mcp__everything__trigger-elicitation-request', {})
    const { ask } = await pending()
    if (!ask.context.includes('The MCP server `everything` asks.')) throw new Error(ask.context)
    if (screen().includes('Esc to cancel')) throw new Error('the dialog is open beside the hook')
    run(askbus, ['answer', ask.id, '--text', 'name=Mei', '--select', 'untitledSingleSelectEnum=Ross', '--number', 'integer=7'])
    await until('the answer', () => JSON.stringify(told() ?? '').includes('Name: Mei'))
    same(JSON.stringify(JSON.parse(told().at(-1).text.replace(/^\s*Raw result: /, ''))), '{"action":"accept","content":{"name":"Mei","integer":7,"untitledSingleSelectEnum":"Ross"}}')
  },
  'form of an MCP server, declined elsewhere': async () => {
    await say('mcp__everything__trigger-elicitation-request', {})
    const { ask } = await pending()
    run(askbus, ['answer', ask.id, '--decline', 'not now'])
    await until('the answer', () => JSON.stringify(told() ?? '').includes('User declined'))
  },
  'form of an MCP server that nobody answers: the dialog opens after --forms': async () => {
    await say('mcp__everything__trigger-elicitation-request', {})
    const { ask } = await pending()
    same((await until('the end', () => ended(ask.id))).outcome.reason, "only the agent's terminal asks now")
    await until('the dialog', () => screen().includes('Accept') && screen().includes('Decline'))
    tmux('send-keys', '-t', 'c', 'Escape')
    await until('the end', () => JSON.stringify(told() ?? '').includes('User cancelled'))
  },
  'claude -p: the form of an MCP server, answered; and withdrawn, which declines nothing': async () => {
    for (const [how, want] of [[(id) => ['answer', id, '--text', 'name=Ben'], 'Name: Ben'], [(id) => ['withdraw', id], 'User cancelled']]) {
      const done = spawn(claude, ['-p', '--permission-mode', 'default', 'CALL mcp__everything__trigger-elicitation-request {}'], { env, cwd: forms, stdio: 'ignore' })
      children.push(done)
      const { ask } = await pending()
      run(askbus, how(ask.session ? ask.session + '/' + ask.id : ask.id))
      await until('its end', () => done.exitCode !== null)
      if (!JSON.stringify(told()).includes(want)) throw new Error(JSON.stringify(told()))
    }
  },
  'mcp install claude-code: a question that expires is no answer': async () => {
    run(claude, ['-p', '--permission-mode', 'default', 'CALL mcp__askbus__AskUserQuestion ' + JSON.stringify({ ...question.questions[0], timeout: '2s', wait_seconds: 30 })], { cwd: tools })
    if (!JSON.stringify(told()).includes('nobody answered') || !JSON.stringify(told()).includes('expired')) throw new Error(JSON.stringify(told()))
  },
  'claude -p: no bus, nothing is allowed': async () => {
    killBus()
    run(claude, ['-p', '--permission-mode', 'default', 'CALL Bash {"command":"touch there"}'], { stdio: ['ignore', 'pipe', 'pipe'] })
    same(existsSync(join(project, 'there')), false)
    if (!told().includes('needs approval')) throw new Error(told())
    run(claude, [...prompt, 'CALL Bash {"command":"touch there"}'], { stdio: ['ignore', 'pipe', 'pipe'] })
    same(existsSync(join(project, 'there')), false)
    if (!told().includes('askbus up')) throw new Error(told())
  },
}

// prompt is a run whose permissions are asked by our MCP tool, without the hook.
const server = { mcpServers: { askbus: { command: askbus, args: ['mcp', '--permissions', '--session', 'by-tool'] } } }
const prompt = ['-p', '--permission-mode', 'default', '--settings', '{"disableAllHooks":true}', '--mcp-config', JSON.stringify(server), '--permission-prompt-tool', 'mcp__askbus__PermissionPrompt', '--']

let failed = 0
try {
  for (const sub of ['home/.claude', 'project', 'tools', 'forms/.claude']) mkdirSync(join(dir, sub), { recursive: true })
  writeFileSync(join(env.HOME, '.claude.json'), JSON.stringify({ hasCompletedOnboarding: true, lastOnboardingVersion: '9.0.0', theme: 'dark', numStartups: 5, customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] }, projects: Object.fromEntries([project, tools, forms].map((at) => [at, { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, allowedTools: [] }])) }))
  const model = spawn(process.execPath, [join(here, 'model.mjs'), log], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(model)
  const port = await new Promise((done) => model.stdout.once('data', (data) => done(String(data).trim())))
  env.ANTHROPIC_BASE_URL = `http://127.0.0.1:${port}`
  await up()
  const foreign = { mcpServers: { everything: { type: 'stdio', command: process.execPath, args: [everything] } } }
  writeFileSync(join(forms, '.mcp.json'), JSON.stringify(foreign))
  writeFileSync(join(forms, '.claude', 'settings.json'), '{"enabledMcpjsonServers":["everything"],"permissions":{"allow":["mcp__everything"]}}')
  run(askbus, ['hook', 'install', '--permissions', '--forms', '--write'])
  const settings = join(env.HOME, '.claude', 'settings.json')
  writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll('--mode race', '--mode race --after 200ms --forms 5s'))
  console.log(run(claude, ['--version']).trim())
  await open()
  const only = process.env.ONLY
  for (const [name, path] of Object.entries(paths)) {
    if (only && !name.includes(only)) continue
    try {
      await path()
      console.log(`| ${name} | holds |`)
    } catch (error) {
      failed++
      console.log(`| ${name} | ${error.message.slice(0, 300)} |`)
      console.log(spawnSync('tmux', ['-S', join(dir, 'tmux'), 'capture-pane', '-p', '-t', 'c'], { encoding: 'utf8' }).stdout?.trim().split('\n').slice(-12).join('\n'))
      for (const { ask } of asks()) run(askbus, ['answer', ask.id, '--decline', 'next'])
      await open()
    }
  }
} finally {
  spawnSync('tmux', ['-S', join(dir, 'tmux'), 'kill-server'])
  for (const child of children) child.kill('SIGKILL')
  await sleep(300)
  rmSync(dir, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)
