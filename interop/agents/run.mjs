// Runs the real agents against askbus, and records what held: "make agents". Needs npm, tmux, and no account.
//
// node run.mjs ASKBUS    installs packages.json into bin/agents, drives each agent, writes the table and the digest
// node run.mjs --check   fails if what the agents use has changed since the last recorded run
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, '../..')
const page = join(root, 'docs/agents-tried.md')
const begin = '<!-- agents: begin; make agents writes what follows -->'
const end = '<!-- agents: end -->'

// digest is that of what the agents use: the code, this folder, and what docs/agents.md tells their users.
function digest() {
  const files = ['internal/asking/hook', 'internal/asking/install', 'internal/asking/acp', 'internal/asking/relay', 'internal/asking/codex', 'internal/asking/mcpserver', 'internal/asking/guard', 'internal/asking/opencode', 'interop/agents']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith('_test.go') && !entry.parentPath.includes('testdata'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file + '\0').update(readFileSync(join(root, file))).update('\0')
  return hash.update(readFileSync(join(root, 'docs/agents.md'))).digest('hex')
}

function parts() {
  const text = readFileSync(page, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error('docs/agents-tried.md has no place for the table: ' + begin)
  return [text.slice(0, from), text.slice(to + end.length), text.slice(from, to)]
}

if (process.argv[2] === '--check') {
  const recorded = parts()[2].match(/digest: ([0-9a-f]{64})/)?.[1]
  if (recorded === digest()) process.exit(0)
  console.error('agents: what the real agents use has changed since they were run; run make agents, and commit docs/agents-tried.md')
  process.exit(1)
}

const askbus = resolve(process.argv[2])
const into = join(root, 'bin/agents')
mkdirSync(into, { recursive: true })
copyFileSync(join(here, 'packages.json'), join(into, 'package.json'))
execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: into, stdio: 'inherit' })
const packages = join(into, 'node_modules')
// These scripts put the packages' own programs where they belong; nothing else needs one.
execFileSync(process.execPath, ['install.cjs'], { cwd: join(packages, '@anthropic-ai/claude-code'), stdio: 'inherit' })
execFileSync(process.execPath, ['postinstall.mjs'], { cwd: join(packages, 'opencode-ai'), stdio: 'inherit' })

const version = (name) => JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8')).version
const names = { codex: ['Codex', '@openai/codex'], gemini: ['Gemini CLI', '@google/gemini-cli'], qwen: ['Qwen Code', '@qwen-code/qwen-code'], copilot: ['Copilot CLI', '@github/copilot'], opencode: ['opencode', 'opencode-ai'], 'claude-agent-acp': ['claude-agent-acp', '@agentclientprotocol/claude-agent-acp'], guard: ['MCP SDK for TypeScript, through the guard', '@modelcontextprotocol/sdk'] }

// What runs, with the client of paths that do not begin with its name.
const runs = [
  ['clients.mjs', [join(packages, '.bin'), askbus], ''],
  ['chat-agents.mjs', [join(packages, '.bin'), askbus], ''],
  ['hooks.mjs', [join(packages, '.bin'), askbus], ''],
  ['opencode.mjs', [join(packages, '.bin'), askbus], ''],
  ['codex.mjs', [join(packages, '.bin'), askbus, join(packages, '@modelcontextprotocol/server-everything/dist/index.js')], ''],
  ['guard.mjs', [packages, askbus], ''],
  ['acp-forms.mjs', [join(packages, '@agentclientprotocol/claude-agent-acp'), askbus], ''],
  ['claude-code.mjs', [join(packages, '@anthropic-ai/claude-code/bin/claude.exe'), askbus, join(packages, '@modelcontextprotocol/server-everything/dist/index.js')], 'Claude Code'],
]
const rows = []
let failed = false
for (const [script, args, client] of runs) {
  const { stdout, status } = spawnSync(process.execPath, [join(here, script), ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  failed ||= status !== 0
  for (const [, path, held] of stdout.matchAll(/^\| (.+?) \| (.+) \|$/gm)) {
    console.log(`${path}: ${held}`)
    const [, key, rest] = path.match(/^([a-z-]+): (.*)$/) ?? []
    const [title, name] = client ? [client, '@anthropic-ai/claude-code'] : names[key]
    rows.push(`| ${title} | ${version(name)} | ${client ? path : rest} | ${held === 'holds' ? 'yes' : 'no'} |`)
  }
}
if (failed) {
  console.error('agents: something did not hold; nothing is recorded')
  process.exit(1)
}
const [before, after] = parts()
writeFileSync(page, `${before}${begin}
| agent | version | path | held |
|---|---|---|---|
${rows.join('\n')}

<!-- digest: ${digest()} -->
${end}${after}`)
