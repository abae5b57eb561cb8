// Mattermost's own WebSocket client against the fake: it signs in, is greeted, and hears what is posted.
import mattermost from '@mattermost/client';
import { WebSocket } from 'ws';

const { MM_URL, MM_TOKEN, ROOM } = process.env;
const say = (name, value) => process.stdout.write(JSON.stringify({ name, ...value }) + '\n');
console.log = () => {}; // what the client says of its connection
globalThis.WebSocket ??= WebSocket; // whose constants it reads
const rest = new mattermost.Client4();
rest.setUrl(MM_URL);
rest.setToken(MM_TOKEN);
const client = new mattermost.WebSocketClient({ newWebSocketFn: (url) => new WebSocket(url) });
client.addMessageListener((m) => {
  if (m.event === 'hello') {
    say('hello', { version: !!m.data.server_version });
    rest.createPost({ channel_id: ROOM, message: 'hello' });
  }
  if (m.event === 'posted') {
    say('posted', { kind: m.data.channel_type, message: JSON.parse(m.data.post).message, seq: m.seq });
    client.close();
    process.exit(0);
  }
});
client.initialize(MM_URL.replace('http', 'ws') + '/api/v4/websocket', MM_TOKEN);
