// Puts "askbus mcp guard" between the official TypeScript client and real MCP servers: over standard input and output,
// and over HTTP.
//
// node guard.mjs PACKAGES ASKBUS    node_modules with the SDK and the servers, and the program
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [packages, askbus] = process.argv.slice(2).map((path) => resolve(path))
const { Client } = await import(join(packages, '@modelcontextprotocol/sdk/dist/esm/client/index.js'))
const { StdioClientTransport } = await import(join(packages, '@modelcontextprotocol/sdk/dist/esm/client/stdio.js'))
const { ElicitRequestSchema } = await import(join(packages, '@modelcontextprotocol/sdk/dist/esm/types.js'))
const program = (name) => join(packages, `@modelcontextprotocol/server-${name}/dist/index.js`)
const dir = mkdtempSync(join(tmpdir(), 'askbus-guard-'))
const project = join(dir, 'project')
const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), ASKBUS_DIR: join(dir, 'bus'), LANG: 'C.UTF-8' }
const run = (...args) => execFileSync(askbus, args, { env, cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const children = []

async function until(what, look) {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(100)) {
    const value = await look()
    if (value) return value
  }
  throw new Error('never: ' + what)
}

const pending = () => until('an ask', () => JSON.parse(run('list', '--output', 'json')).items[0]?.ask)
const decide = async (...how) => run('answer', (await pending()).id, ...how)
const text = (result) => result.content.map((part) => part.text).join('\n')
const includes = (got, want) => { if (!got.includes(want)) throw new Error(`got ${JSON.stringify(got.slice(0, 300))}, want ${JSON.stringify(want)}`) }
const call = (client, name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options)

// connect starts a guard; flags stand before the server's command.
async function connect(...args) {
  const transport = new StdioClientTransport({ command: askbus, args: ['mcp', 'guard', ...args], env, cwd: project, stderr: 'inherit' })
  const client = new Client({ name: 'checker', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))
  await client.connect(transport)
  return { client, pid: transport.pid }
}

const rules = join(dir, 'rules.yaml')
writeFileSync(rules, 'otherwise: ask\nrules:\n- {tool: "read_*", then: allow}\n- {tool: "list_*", then: allow}\n- {tool: echo, then: allow}\n- {tool: "*", arguments: {/path: "*secret*"}, then: refuse, reason: that is secret}\n')
const files = ['--rules', rules, '--', process.execPath, program('filesystem'), project]

const paths = {
  'guard: a filesystem server; reading passes, writing is allowed, refused, and refused by a rule': async () => {
    const { client } = await connect(...files)
    const { tools } = await client.listTools()
    if (!tools.some((tool) => tool.name === 'askbus_result') || !tools.some((tool) => tool.name === 'write_file')) throw new Error('its tools: ' + tools.map((tool) => tool.name))
    writeFileSync(join(project, 'a.txt'), 'one')
    includes(text(await call(client, 'read_text_file', { path: join(project, 'a.txt') })), 'one')
    let result = call(client, 'write_file', { path: join(project, 'b.txt'), content: 'two' })
    await decide('--select', 'permission=allow')
    if ((await result).isError || readFileSync(join(project, 'b.txt'), 'utf8') !== 'two') throw new Error('not written: ' + text(await result))
    result = call(client, 'write_file', { path: join(project, 'c.txt'), content: 'three' })
    await decide('--select', 'permission=refuse', '--note', 'permission=use "b.txt"')
    includes(text(await result), 'not carried out: use "b.txt"')
    includes(text(await call(client, 'write_file', { path: join(project, 'secret.txt'), content: 'x' })), 'that is secret')
    if (existsSync(join(project, 'c.txt')) || existsSync(join(project, 'secret.txt'))) throw new Error('written all the same')
    await client.close()
  },
  'guard: a call that waits long is pending, and carried out once when it is allowed': async () => {
    const { client } = await connect('--wait', '1s', ...files)
    const id = text(await call(client, 'write_file', { path: join(project, 'late.txt'), content: 'x' })).match(/with id "(.+)"/)[1]
    includes(text(await call(client, 'askbus_result', { id, wait_seconds: 0 })), 'pending')
    if (existsSync(join(project, 'late.txt'))) throw new Error('carried out unasked')
    await decide('--select', 'permission=allow')
    includes(await until('the result', async () => { const said = text(await call(client, 'askbus_result', { id })); return !/^(pending|running)/.test(said) && said }), 'late.txt')
    rmSync(join(project, 'late.txt'))
    await call(client, 'askbus_result', { id })
    if (existsSync(join(project, 'late.txt'))) throw new Error('carried out twice')
    await client.close()
  },
  'guard: it is killed during a call, which is not repeated': async () => {
    const { client, pid } = await connect('--wait', '1s', '--rules', rules, '--', process.execPath, program('everything'))
    const id = text(await call(client, 'trigger-long-running-operation', { duration: 60, steps: 2 })).match(/with id "(.+)"/)[1]
    await decide('--select', 'permission=allow')
    await until('its start', async () => text(await call(client, 'askbus_result', { id, wait_seconds: 0 })).startsWith('running'))
    process.kill(pid, 'SIGKILL')
    await client.close()
    const again = await connect('--wait', '1s', '--rules', rules, '--', process.execPath, program('everything'))
    includes(text(await call(again.client, 'askbus_result', { id })), 'unknown, not repeated')
    await again.client.close()
  },
  'guard: the client exits, and its call is withdrawn': async () => {
    const { client } = await connect('--wait', '1s', ...files)
    await call(client, 'write_file', { path: join(project, 'gone.txt'), content: 'x' })
    const { id } = await pending()
    await client.close()
    await until('the withdrawal', () => JSON.parse(run('list', '--state', 'resolved', '--output', 'json')).items.find((row) => row.ask.id === id)?.outcome.status === 'withdrawn')
    if (existsSync(join(project, 'gone.txt'))) throw new Error('carried out')
  },
  'guard: a server over HTTP; progress and elicitations pass': async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await new Promise((done) => free.once('listening', done))
    const { port } = free.address()
    await new Promise((done) => free.close(done))
    const server = spawn(process.execPath, [program('everything'), 'streamableHttp'], { env: { ...env, PORT: String(port) }, stdio: 'ignore' })
    children.push(server)
    const url = `http://127.0.0.1:${port}/mcp`
    await until('the server', () => fetch(url).then(() => true, () => false))
    const { client } = await connect('--url', url, '--rules', rules)
    includes(text(await call(client, 'echo', { message: 'hello' })), 'hello')
    const steps = []
    const result = call(client, 'trigger-long-running-operation', { duration: 1, steps: 4 }, { onprogress: (step) => steps.push(step.progress) })
    await decide('--select', 'permission=allow')
    includes(text(await result), 'completed')
    if (steps.length < 3) throw new Error('its progress: ' + steps)
    const form = call(client, 'trigger-elicitation-request')
    await decide('--select', 'permission=allow')
    includes(text(await form), 'decline')
    await client.close()
  },
}

let failed = 0
try {
  for (const sub of [project, env.HOME]) mkdirSync(sub, { recursive: true })
  const bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(bus)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  for (const [name, path] of Object.entries(paths)) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue
    try {
      await path()
      console.log(`| ${name} | holds |`)
    } catch (error) {
      failed++
      console.log(`| ${name} | ${error.message.replaceAll('\n', ' ').slice(0, 400)} |`)
      for (const { ask } of JSON.parse(run('list', '--output', 'json')).items) run('answer', ask.id, '--decline', 'next')
    }
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(failed ? 1 : 0)
