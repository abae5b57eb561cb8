// Questions of Claude Code as claude-agent-acp itself puts them into forms, answered through askbus, and read back
// by claude-agent-acp's own functions.
//
// node acp-forms.mjs PACKAGE ASKBUS    the package's directory, and the program
// node acp-forms.mjs PACKAGE --golden DIR    writes the requests of the dialect's golden files
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

const [where, askbus, golden] = process.argv.slice(2)
const { applyAskElicitationResponse, askUserQuestionsToCreateRequest } = await import(resolve(where, 'dist/elicitation.js'))

const option = (label, preview) => ({ label, description: 'why ' + label, ...(preview ? { preview } : {}) })
const db = { question: 'Which database?', header: 'Database', multiSelect: false, options: [option('Postgres, 17', '```sql\nserial\n```'), option('SQLite', 'one file')] }
const parts = { question: 'Which parts?', header: 'Parts', multiSelect: true, options: [option('api, v2'), option('ui')] }
const when = { question: 'When?', header: 'When', multiSelect: false, options: [option('now'), option('later')] }

// Each case: the questions, the answer to askbus, and what the tool of Claude Code then gets.
const cases = {
  single: [[db], { Database: ['--select', 'question_0=Postgres, 17', '--note', 'question_0=with backups'] }, { answers: { 'Which database?': 'Postgres, 17' }, annotations: { 'Which database?': { notes: 'with backups' } } }],
  other: [[db], { Other: ['--other', 'question_0=Redis, not SQL'] }, { answers: { 'Which database?': 'Redis, not SQL' } }],
  several: [[db, parts, when], { all: ['--select', 'question_0=SQLite', '--select', 'question_1=api, v2', '--select', 'question_1=ui', '--other', 'question_1=docs', '--select', 'question_2=now'] }, { answers: { 'Which database?': 'SQLite', 'Which parts?': '"api, v2", ui, docs', 'When?': 'now' } }],
}

if (askbus === '--golden') {
  for (const name of ['single', 'several']) {
    const path = join(golden, `elicitation-claude_agent_acp_${name}.txtar`)
    const kept = existsSync(path) ? readFileSync(path, 'utf8').replace(/^[^]*?(?=^-- ask --$)/m, '') : ''
    const request = askUserQuestionsToCreateRequest(cases[name][0], 's1', 'toolu_1')
    writeFileSync(path, `Made by interop/agents/acp-forms.mjs with claude-agent-acp's own function.\n-- request --\n${JSON.stringify(request, null, 1)}\n${kept}`)
  }
  process.exit(0)
}

const dir = mkdtempSync(join(tmpdir(), 'askbus-acp-'))
const env = { ...process.env, HOME: dir, ASKBUS_DIR: join(dir, 'bus') }
const bus = spawn(resolve(askbus), ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
let failed = 0
try {
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  for (const [name, [questions, answer, want]] of Object.entries(cases)) {
    const file = join(dir, name + '.json')
    writeFileSync(file, JSON.stringify(askUserQuestionsToCreateRequest(questions, 's1', 'toolu_1')))
    const asking = spawn(resolve(askbus), ['ask', '--dialect', 'elicitation', '--file', file, '--id', name], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const out = []
    asking.stdout.on('data', (data) => out.push(data))
    const over = new Promise((done) => asking.once('close', done))
    for (let tries = 0; ; tries++) {
      const { items } = JSON.parse(execFileSync(resolve(askbus), ['list', '--output', 'json'], { env, encoding: 'utf8' }))
      if (items.some((row) => row.ask.id === name)) break
      if (tries > 100 || asking.exitCode !== null) throw new Error(name + ' was not asked: ' + asking.stderr.read())
    }
    execFileSync(resolve(askbus), ['answer', name, ...Object.values(answer)[0]], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    await over
    const got = applyAskElicitationResponse(JSON.parse(Buffer.concat(out)), { questions }, questions)
    const { answers, annotations } = got.updatedInput ?? {}
    const holds = isDeepStrictEqual({ answers, ...(annotations ? { annotations } : {}) }, want)
    if (!holds) failed++
    console.log(`| claude-agent-acp: form, ${name} | ${holds ? 'holds' : JSON.stringify(got)} |`)
  }
} finally {
  bus.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)
