// Asks a human with fetch, and nothing else.
//
//   ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_TOKEN=askb_… node examples/node/ask.mjs
const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: token } = process.env;
const id = process.argv[2] ?? crypto.randomUUID(); // the same id again is the same ask

async function call(path, init = {}) {
  const response = await fetch(new URL(path, base), {
    ...init,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`${body.status} ${body.detail} ${JSON.stringify(body.errors ?? [])}`);
  return { response, body };
}

/** Asks, and waits for as long as it takes. */
export async function ask(questions) {
  let { response, body } = await call('/v1/asks?wait=10m', { method: 'POST', body: JSON.stringify({ id, questions }) });
  while (response.status === 202) ({ response, body } = await call(response.headers.get('location') ?? `/v1/asks/${body.session}/${id}?wait=10m`));
  return body; // the outcome: answered, cancelled, withdrawn, expired or aborted
}

const outcome = await ask([
  { id: 'db', text: 'Which database should the ledger use?', options: [{ id: 'pg', label: 'PostgreSQL' }, { id: 'lite', label: 'SQLite' }] },
]);
console.log(outcome.status, JSON.stringify(outcome.answers));
