// Discord's own libraries against the fake: @discordjs/rest calls it, discord-api-types names what it returns, and
// discord-interactions verifies what it signs.
import http from "node:http";
import { once } from "node:events";
import { REST, DiscordAPIError } from "@discordjs/rest";
import { ApplicationCommandType, ComponentType, ButtonStyle, InteractionContextType, InteractionType, InteractionResponseType, MessageFlags, Routes, TextInputStyle } from "discord-api-types/v10";
import { verifyKey } from "discord-interactions";

const { DISCORD_API, DISCORD_TOKEN, DISCORD_KEY, CHANNEL, USER } = process.env;
const limited = [];
const rest = new REST({ version: "10", api: DISCORD_API.replace(/\/v10$/, "") }).setToken(DISCORD_TOKEN);
rest.on("rateLimited", (l) => limited.push(l));
const say = (name, more) => console.log(JSON.stringify({ name, ...more }));
const refused = async (name, call) => {
  try {
    await call();
    say(name, { ok: true });
  } catch (e) {
    say(name, { ok: false, api: e instanceof DiscordAPIError, code: e.code, status: e.status });
  }
};

const me = await rest.get(Routes.currentApplication());
say("application", { ok: true, id: me.id, key: me.verify_key === DISCORD_KEY });
const gateway = await rest.get(Routes.gatewayBot());
say("gateway", { ok: gateway.url.startsWith("ws"), left: gateway.session_start_limit.remaining });

const commands = Routes.applicationCommands(me.id);
await rest.post(commands, { body: { name: "link", type: ApplicationCommandType.ChatInput, description: "x", contexts: [InteractionContextType.Guild, InteractionContextType.BotDM] } });
say("commands", { ok: true, names: (await rest.get(commands)).map((c) => c.name) });
await refused("a command in capitals", () => rest.post(commands, { body: { name: "Link", description: "x" } }));

const card = (content, id = "x") => ({
  flags: MessageFlags.IsComponentsV2,
  components: [{ type: ComponentType.Container, components: [
    { type: ComponentType.TextDisplay, content },
    { type: ComponentType.ActionRow, components: [{ type: ComponentType.Button, style: ButtonStyle.Primary, label: "Go", custom_id: id }] },
  ] }],
  allowed_mentions: { parse: [] },
});
const post = (body) => rest.post(Routes.channelMessages(CHANNEL), { body });
const first = await post({ ...card("one"), nonce: "n1", enforce_nonce: true });
const again = await post({ ...card("one"), nonce: "n1", enforce_nonce: true });
say("nonce", { ok: first.id === again.id, author: first.author.bot });
await refused("content beside components", () => post({ ...card("two"), content: "x" }));
await refused("4,001 characters", () => post(card("x".repeat(4001))));
await refused("no components", () => post({ flags: MessageFlags.IsComponentsV2, components: [] }));
await refused("custom id of 101", () => post(card("x", "y".repeat(101))));
await refused("unknown channel", () => rest.get(Routes.channel("1")));
await refused("unknown message", () => rest.patch(Routes.channelMessage(CHANNEL, "1"), { body: card("x") }));
const edited = await rest.patch(Routes.channelMessage(CHANNEL, first.id), { body: card("two") });
say("edit", { ok: edited.id === first.id, text: edited.components[0].components[0].content });
const list = await rest.get(Routes.channelMessages(CHANNEL), { query: new URLSearchParams({ limit: "100", after: "0" }) });
say("history", { ok: list.length === 1, id: list[0].id === first.id });
const direct = await rest.post(Routes.userChannels(), { body: { recipient_id: USER } });
say("direct", { ok: direct.type === 1 });

// The library waits by the headers, so that none of these is refused with 429.
for (let i = 0; i < 6; i++) await post(card("m" + i));
say("limits", { ok: true, waited: limited.length > 0, limit: limited[0]?.limit });

// An endpoint for interactions as Discord's example has it; then a person presses "Go", and sends the form.
const server = http.createServer(async (req, res) => {
  const chunks = [];
  for await (const c of req) chunks.push(c);
  const body = Buffer.concat(chunks);
  if (!(await verifyKey(body, req.headers["x-signature-ed25519"], req.headers["x-signature-timestamp"], DISCORD_KEY))) {
    res.writeHead(401).end();
    return;
  }
  const in_ = JSON.parse(body);
  const answer = (v) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(v));
  if (in_.type === InteractionType.Ping) return answer({ type: InteractionResponseType.Pong });
  if (in_.type === InteractionType.ApplicationCommand) {
    return answer({ type: InteractionResponseType.ChannelMessageWithSource, data: { content: in_.data.name, flags: MessageFlags.Ephemeral } });
  }
  if (in_.type === InteractionType.MessageComponent) {
    return answer({ type: InteractionResponseType.Modal, data: { custom_id: "f", title: "Form", components: [
      { type: ComponentType.Label, label: "Name", component: { type: ComponentType.TextInput, style: TextInputStyle.Short, custom_id: "name" } },
      { type: ComponentType.Label, label: "One", component: { type: ComponentType.RadioGroup, custom_id: "one", options: [{ label: "A", value: "a" }, { label: "B", value: "b" }] } },
    ] } });
  }
  say("form", { ok: true, user: in_.member.user.id, field: in_.data.components[0].component.value, one: in_.data.components[1].component.value });
  answer({ type: InteractionResponseType.ChannelMessageWithSource, data: { content: "thanks", flags: MessageFlags.Ephemeral } });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(JSON.stringify({ name: "endpoint", address: `http://127.0.0.1:${server.address().port}/` }));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
