// Checks a file of "askbus audit evidence" with a public key and the standard library, by nothing but
// docs/audit.md, C2SP signed-note and RFC 6962: node verify.mjs EVIDENCE PUBLIC-KEY
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'

const [, , file, keyFile] = process.argv
const sha256 = (...parts) => parts.reduce((h, p) => h.update(p), createHash('sha256')).digest()
const demand = (ok, what) => {
  if (!ok) {
    console.error(what)
    process.exit(1)
  }
}

// A number is hashed as it was written, which JSON.parse forgets.
const text = readFileSync(file, 'utf8').replace(/(?<!\\)"value":\s*(-?\d[\d.eE+-]*)/g, '"value":{"number":"$1"}')
const evidence = JSON.parse(text)
demand(evidence.format === 'askbus.audit.evidence.v1' && evidence.records.length > 0, 'no evidence')

// The checkpoint: a signed note.
const [, name, encoded] = readFileSync(keyFile, 'utf8').trim().match(/^(.+)\+[0-9a-f]{8}\+(.+)$/)
const key = Buffer.from(encoded, 'base64')
demand(key.length === 33 && key[0] === 1, 'no Ed25519 key of a note')
const id = sha256(name, '\n', key).subarray(0, 4)
const ed25519 = createPublicKey({ key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key.subarray(1)]), format: 'der', type: 'spki' })
const end = evidence.checkpoint.indexOf('\n\n') + 1
const signed = evidence.checkpoint.slice(0, end)
const signatures = evidence.checkpoint.slice(end + 1).split('\n').filter((l) => l.startsWith(`— ${name} `)).map((l) => Buffer.from(l.split(' ')[2], 'base64'))
demand(signatures.some((s) => s.subarray(0, 4).equals(id) && verify(null, Buffer.from(signed), ed25519, s.subarray(4))), 'the checkpoint is not signed by this key')
const [origin, size, root] = signed.split('\n')
demand(origin === name, 'the checkpoint is of another log')

// included checks a proof of inclusion (RFC 9162, 2.1.3.2).
function included(leaf, index, size, proof, root) {
  let [fn, sn, r] = [BigInt(index), BigInt(size) - 1n, sha256(Buffer.from([0]), leaf)]
  if (fn > sn) return false
  for (const p of proof.map((h) => Buffer.from(h, 'base64'))) {
    if (sn === 0n) return false
    if (fn & 1n || fn === sn) {
      r = sha256(Buffer.from([1]), p, r)
      while (!(fn & 1n) && fn !== 0n) [fn, sn] = [fn >> 1n, sn >> 1n]
    } else r = sha256(Buffer.from([1]), r, p)
    ;[fn, sn] = [fn >> 1n, sn >> 1n]
  }
  return sn === 0n && r.equals(Buffer.from(root, 'base64'))
}

let values = 0
let last = -1
for (const r of evidence.records) {
  demand(r.index > last, `leaf ${r.index} is there twice, or not in the order of the log`)
  last = r.index
  demand(r.leaf.startsWith('askbus.audit.leaf.v1\nrecord '), `leaf ${r.index} is not a record`)
  demand(included(r.leaf, r.index, size, r.proof, root), `leaf ${r.index} is not in the log`)
  const lines = r.leaf.split('\n')
  demand(r.fields.every((f, i) => i === 0 || f.line > r.fields[i - 1].line), `leaf ${r.index}: a value is there twice`)
  for (const f of r.fields) {
    const salt = Buffer.from(f.salt, 'base64')
    const value = f.value?.number ?? JSON.stringify(f.value)
    demand(salt.length === 16 && lines[f.line] === sha256(salt, f.path, '\0', value).toString('base64'), `leaf ${r.index}: ${f.path} is not what was recorded`)
    values++
  }
}
console.log(JSON.stringify({ records: evidence.records.length, values }))
