// The bridge between two hosts that know nothing but an EventEmitter: one whose agent asks, one whose people answer.
import { EventEmitter } from 'node:events';
import WebSocket from 'ws';
import { bridge } from '../../examples/bridge/askbus-bridge.mjs';

const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: agent, ASKBUS_SCREEN: screen } = process.env;
const asking = new EventEmitter();
const answering = new EventEmitter();
const onError = (problem) => console.log(JSON.stringify({ problem }));

answering.on('ask:question:request', (request) => {
  answering.emit('ask:question:response', { agentId: request.agentId, answers: { 'question-0': 'react', 'question-1': 'a,c' } });
});
const stop = [
  bridge(asking, base, agent, { direction: 'agent', session: 'bridge', WebSocket, onError }),
  bridge(answering, base, screen, { direction: 'screen', session: 'bridge', WebSocket, onError }),
];
asking.on('ask:question:error', (refusal) => console.log(JSON.stringify({ refusal })));
asking.on('ask:question:response', (response) => {
  console.log(JSON.stringify({ response }));
  if (response.status !== 'refused') for (const one of stop) one();
});
asking.emit('ask:question:request', { agentId: 'hasty', questions: [{ question: 'Which?', header: 'H', options: [{ label: 'only' }] }] });
asking.emit('ask:question:request', {
  agentId: 'host-agent',
  questions: [
    { question: 'Which framework?', header: 'Framework', options: [{ label: 'react', description: '' }, { label: 'vue', description: '' }] },
    { question: 'Which parts?', header: 'Parts', multiSelect: true, options: [{ label: 'a' }, { label: 'b' }, { label: 'c' }] },
  ],
});
