// Two foreign screens on the ws package, one of D4 and one of D1, that answer the same ask at once.
import WebSocket from 'ws';

const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: token } = process.env;
const at = (query) => `${base.replace(/^http/, 'ws')}/t/${token}/ws?sessionId=race&${query}`;
const screens = { d4: new WebSocket(at('by=Ana')), d1: new WebSocket(at('dialect=d1&by=Ben')) };
const shown = {};
const closed = {};
let open = 0;
for (const [name, socket] of Object.entries(screens)) {
  socket.on('open', () => { if (++open === 2) console.log('open'); });
  socket.on('message', (text) => {
    const { type, data } = JSON.parse(text);
    if (type === 'interaction_request' || type === 'ask:question:request') shown[name] = data;
    if (shown.d4 && shown.d1 && type.endsWith('request')) {
      console.log('shown');
      screens.d4.send(JSON.stringify({ type: 'interaction_response', data: { id: shown.d4.id, result: shown.d4.options[0].label } }));
      screens.d1.send(JSON.stringify({ type: 'ask:question:response', data: { agentId: shown.d1.agentId, answers: { 'question-0': shown.d1.questions[0].options[1].label } } }));
    }
    if (type === 'interaction_closed' || type === 'ask:question:closed') closed[name] = data;
    if (closed.d4 && closed.d1) {
      console.log(JSON.stringify({ d4: closed.d4, d1: closed.d1 }));
      for (const one of Object.values(screens)) one.close();
    }
  });
}
