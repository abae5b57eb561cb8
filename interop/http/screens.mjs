// Two foreign screens on the ws package, one of interact and one of the event pair, that answer the same ask at once.
import WebSocket from 'ws';

const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: token } = process.env;
const at = (query) => `${base.replace(/^http/, 'ws')}/t/${token}/ws?sessionId=race&${query}`;
const screens = { interact: new WebSocket(at('by=Ana')), pair: new WebSocket(at('dialect=event-pair&by=Ben')) };
const shown = {};
const closed = {};
let open = 0;
for (const [name, socket] of Object.entries(screens)) {
  socket.on('open', () => { if (++open === 2) console.log('open'); });
  socket.on('message', (text) => {
    const { type, data } = JSON.parse(text);
    if (type === 'interaction_request' || type === 'ask:question:request') shown[name] = data;
    if (shown.interact && shown.pair && type.endsWith('request')) {
      console.log('shown');
      screens.interact.send(JSON.stringify({ type: 'interaction_response', data: { id: shown.interact.id, result: shown.interact.options[0].label } }));
      screens.pair.send(JSON.stringify({ type: 'ask:question:response', data: { agentId: shown.pair.agentId, answers: { 'question-0': shown.pair.questions[0].options[1].label } } }));
    }
    if (type === 'interaction_closed' || type === 'ask:question:closed') closed[name] = data;
    if (closed.interact && closed.pair) {
      console.log(JSON.stringify({ interact: closed.interact, pair: closed.pair }));
      for (const one of Object.values(screens)) one.close();
    }
  });
}
