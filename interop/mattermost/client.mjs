// Mattermost's own client against the fake: the bot, a post with a button and its edit, members, a direct channel, refusals.
import mattermost from '@mattermost/client';

const { Client4 } = mattermost;

const { MM_URL, MM_TOKEN, ROOM, MEI } = process.env;
const say = (name, value) => console.log(JSON.stringify({ name, ...value }));
const tried = async (name, f) => {
  try { say(name, await f()); } catch (e) { say(name, { status: e.status_code, id: e.server_error_id }); }
};
const client = new Client4();
client.setUrl(MM_URL);
client.setToken(MM_TOKEN);
const attachments = [{ text: 'Which?', actions: [{ id: 'b0', type: 'button', name: 'Yes', integration: { url: 'http://127.0.0.1:1', context: { code: 'secret' } } }] }];
const secret = (p) => JSON.stringify(p).includes('secret');

let id;
await tried('me', async () => { const me = await client.getMe(); return { bot: me.is_bot, username: me.username }; });
await tried('post', async () => { const p = await client.createPost({ channel_id: ROOM, message: '', props: { attachments } }); id = p.id; return { posted: !!id, secret: secret(p) }; });
await tried('edit', async () => { const p = await client.patchPost({ id, props: { attachments: [{ text: 'done' }] } }); return { same: p.id === id, text: p.props.attachments[0].text }; });
await tried('read', async () => ({ text: (await client.getPost(id)).props.attachments[0].text }));
await tried('edit nothing', () => client.patchPost({ id: 'none', message: 'x' }));
await tried('elsewhere', () => client.createPost({ channel_id: 'none', message: 'x' }));
await tried('too long', () => client.createPost({ channel_id: ROOM, message: 'x'.repeat(16384) }));
await tried('member', async () => ({ user: (await client.getChannelMember(ROOM, MEI)).user_id }));
await tried('stranger', () => client.getChannelMember(ROOM, 'none'));
await tried('members', async () => ({ count: (await client.getChannelStats(ROOM)).member_count }));
await tried('direct', async () => ({ type: (await client.createDirectChannel(['botbotbotbotbotbotbotbotbo', MEI])).type }));
const file = (channel) => {
  const form = new FormData();
  form.append('channel_id', channel);
  form.append('files', new Blob(['png']), 'shot.png');
  return client.uploadFile(form);
};
await tried('file', async () => {
  const { file_infos: [made] } = await file(ROOM);
  const p = await client.createPost({ channel_id: ROOM, root_id: id, message: '', file_ids: [made.id] });
  return { called: made.name, files: p.file_ids.length };
});
await tried('file elsewhere', () => file('none'));
client.setToken('wrong');
await tried('a wrong token', () => client.getMe());
