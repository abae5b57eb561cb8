// Exchanges a token for a NATS credential of one session, with fetch.
//
//   ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_EXCHANGE_TOKEN_FILE=/var/run/secrets/askbus/token node examples/node/exchange.mjs agent.creds [SESSION]
//
// The token is that of a Kubernetes service account, of an OIDC issuer, or an API token. The file that is written works with any NATS
// client (with the inbox prefix that is printed). Exchange it again before it expires.
import { readFile, writeFile } from 'node:fs/promises';

const swap = async (base, token, session) => {
  const at = new URL('/v1/credentials', base);
  if (session) at.searchParams.set('session', session);
  const response = await fetch(at, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  const body = await response.json();
  if (!response.ok) throw new Error(`${body.status} ${body.detail} ${JSON.stringify(body.errors ?? '')}`);
  return body;
};

const [file, session] = process.argv.slice(2);
const token = (await readFile(process.env.ASKBUS_EXCHANGE_TOKEN_FILE, 'utf8')).trim();
const { creds, url, name, inbox_prefix, expires } = await swap(process.env.ASKBUS_HTTP_URL, token, session);
await writeFile(file, creds, { mode: 0o600 });
console.log(JSON.stringify({ url, name, inbox_prefix, expires }));
