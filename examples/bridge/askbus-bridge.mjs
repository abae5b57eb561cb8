// Connects a host that has on/emit and the two events of "ask the user" to askbus, in one direction:
//   agent   what the host's agents ask goes out to people, and their answers come back
//   screen  what agents elsewhere ask is emitted here, and what this host's people answer goes out
// An answer counts when askbus confirms it; until then it is sent again on every new connection.
// No dependency: browsers and Node 22 have WebSocket; for older ones give one as options.WebSocket.
//
//   const stop = bridge(host, 'http://127.0.0.1:8420', token, { direction: 'agent', session: 'chat-7' });

const REQUEST = 'ask:question:request';
const RESPONSE = 'ask:question:response';
const CLOSED = 'ask:question:closed'; // to a screen: it ended, take it away
const PENDING = 'ask:question:pending'; // it is stored, behind `queued` others of its agent
const ERROR = 'ask:question:error'; // refused, with why
const emitted = new WeakSet(); // what a bridge emitted itself must not go out again

export function bridge(host, url, token, options = {}) {
  const { direction = 'agent', session, WebSocket = globalThis.WebSocket, onError = () => {} } = options;
  const [out, back] = direction === 'agent' ? [REQUEST, RESPONSE] : [RESPONSE, REQUEST];
  const query = new URLSearchParams({ dialect: 'event-pair', ...(session && { sessionId: session }) });
  const at = `${url.replace(/^http/, 'ws').replace(/\/$/, '')}/t/${token}/ws?${query}`;
  const kept = new Map(); // what the host said, by ask, until it counts
  const shown = new Map(); // the open ask of each agent, for hosts that give no id back
  let socket, timer, stopped = false, tries = 0;

  const send = (type, data) => socket.readyState === 1 && socket.send(JSON.stringify({ type, data }));
  const hears = (data) => {
    if (emitted.has(data)) return;
    const id = data.id ?? shown.get(data.agentId) ?? crypto.randomUUID();
    kept.set(id, { ...data, id });
    send(out, kept.get(id));
  };

  // What was refused is not said again. A host that waits for a response gets one without answers.
  function refused(problem) {
    const said = kept.get(problem.id);
    kept.delete(problem.id);
    onError(problem);
    host.emit(ERROR, { agentId: said?.agentId, ...problem });
    if (direction !== 'agent' || !said) return;
    const response = { agentId: said.agentId, id: said.id, answers: {}, status: 'refused', reason: problem.detail };
    emitted.add(response);
    host.emit(RESPONSE, response);
  }

  function connect() {
    socket = new WebSocket(at);
    socket.addEventListener('open', () => {
      tries = 0;
      if (shown.size) send('hello', { open: [...shown.values()] });
      for (const data of kept.values()) send(out, data);
    });
    socket.addEventListener('message', (message) => {
      const { type, data } = JSON.parse(message.data);
      if (type === REQUEST) shown.set(data.agentId, data.id);
      if (type === RESPONSE || type === CLOSED) kept.delete(data.id);
      if (type === CLOSED && shown.get(data.agentId) === data.id) shown.delete(data.agentId);
      if (type === 'error') return refused(data);
      if (type !== back && type !== CLOSED && type !== PENDING) return;
      emitted.add(data);
      host.emit(type, data);
    });
    socket.addEventListener('error', () => {}); // close follows
    socket.addEventListener('close', () => { if (!stopped) timer = setTimeout(connect, Math.min(10000, 250 * 2 ** tries++)); });
  }

  host.on(out, hears);
  connect();
  return () => { stopped = true; clearTimeout(timer); host.off?.(out, hears); socket.close(); };
}
