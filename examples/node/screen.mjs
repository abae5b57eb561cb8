// A screen in a terminal: shows what waits for a session and sends back what you type.
//
//   ASKBUS_HTTP_URL=http://127.0.0.1:8420 ASKBUS_TOKEN=askb_… node examples/node/screen.mjs s1
//
// The token is one of the role screen or responder. Node 22 has WebSocket; Node 20 needs --experimental-websocket.
import readline from 'node:readline/promises';

const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: token } = process.env;
const session = process.argv[2] ?? 'cli';
const terminal = readline.createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();
const waiting = new Map(); // by id, the oldest first
let busy = false;
let ended = false; // nobody types any more
terminal.on('close', () => { ended = true; });

const socket = new WebSocket(`${base.replace(/^http/, 'ws')}/t/${token}/ws?sessionId=${encodeURIComponent(session)}&by=${process.env.USER ?? ''}`);
socket.onmessage = ({ data: text }) => {
  const { type, data } = JSON.parse(text);
  if (type === 'interaction_request') waiting.set(data.id, data);
  if (type === 'interaction_closed') {
    waiting.delete(data.id);
    console.log(`${data.id}: ${data.status}${data.by ? ` by ${data.by}` : ''}`);
    if (ended && !waiting.size) socket.close();
  }
  if (type === 'error') console.log(data.errors?.map((e) => e.detail).join(' ') ?? data.detail);
  if (!busy) next();
};
socket.onclose = () => process.exit();

async function next() {
  const [question] = waiting.values();
  if (!question) return;
  busy = true;
  waiting.delete(question.id);
  console.log(question.question);
  question.options?.forEach(({ label, description }, i) => console.log(`  ${i + 1}. ${label}${description ? ` - ${description}` : ''}`));
  const { value: typed, done } = await lines.next();
  if (done) return socket.close();
  const result = question.options?.[Number(typed) - 1]?.label ?? typed;
  socket.send(JSON.stringify({ type: 'interaction_response', data: { id: question.id, result: question.multiselect ? [result] : result } }));
  busy = false;
  next();
}
