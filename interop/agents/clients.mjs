// Writes the entry of askbus for each MCP client with "askbus mcp install", and lets the client itself read it, and
// connect where it has a command for that.
//
// node clients.mjs BIN ASKBUS    the directory of the clients' programs (node_modules/.bin), and the program
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const [bin, askbus] = process.argv.slice(2).map((path) => resolve(path))
const dir = mkdtempSync(join(tmpdir(), 'askbus-clients-'))
const project = join(dir, 'project')
const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), XDG_CONFIG_HOME: join(dir, 'home', '.config'), ASKBUS_DIR: join(dir, 'bus'), TERM: 'dumb', LANG: 'C.UTF-8' }

// Each client: how it lists its servers, what it then says, and what the path is called.
const clients = {
  codex: [['mcp', 'get', 'askbus'], /enabled: true[^]*args: mcp .*--client codex[^]*tool_timeout_sec: 120/, 'reads the entry'],
  gemini: [['mcp', 'list'], /askbus: .*--client gemini/, 'reads the entry'],
  qwen: [['mcp', 'list'], /askbus: .*--client qwen .*Connected/, 'reads the entry and connects'],
  copilot: [['mcp', 'get', 'askbus'], /Status: Enabled[^]*--client copilot[^]*Tools: \* \(all\)/, 'reads the entry'],
  opencode: [['mcp', 'list'], /askbus.*connected[^]*--client opencode/, 'reads the entry and connects'],
}

let failed = 0
const bus = spawn(askbus, ['up', '--no-open', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
try {
  mkdirSync(project, { recursive: true })
  mkdirSync(env.HOME)
  await new Promise((done) => bus.stdout.on('data', (data) => String(data).includes('is up') && done()))
  for (const [name, [args, want, path]] of Object.entries(clients)) {
    if (!existsSync(join(bin, name))) continue
    execFileSync(askbus, ['mcp', 'install', name, '--write'], { env, cwd: project, stdio: 'ignore' })
    const { stdout, stderr } = spawnSync(join(bin, name), args, { env, cwd: project, encoding: 'utf8', timeout: 60_000 })
    const said = (stdout + stderr).replace(/\x1b\[[0-9;]*m/g, '')
    const holds = want.test(said)
    if (!holds) failed++
    console.log(`| ${name}: ${path} | ${holds ? 'holds' : 'says: ' + said.slice(-300).replaceAll('\n', ' ')} |`)
  }
} finally {
  bus.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)
