// discord.js over the gateway of the fake: it identifies, hears what people do, answers it, and resumes after a cut.
import { Client, ComponentType, ButtonStyle, Events, GatewayIntentBits, MessageFlags, Partials, Routes } from "discord.js";

const { DISCORD_API, DISCORD_TOKEN, CHANNEL } = process.env;
const say = (name, more) => console.log(JSON.stringify({ name, ...more }));
const client = new Client({
  intents: [GatewayIntentBits.DirectMessages], partials: [Partials.Channel],
  rest: { version: "10", api: DISCORD_API.replace(/\/v10$/, "") },
});
client.on(Events.Error, (e) => say("error", { text: String(e) }));
client.on(Events.ShardResume, () => say("resumed"));
client.on(Events.MessageCreate, (m) => say("message", { content: m.content, author: m.author.id, direct: m.channel.isDMBased() }));
client.on(Events.InteractionCreate, async (i) => {
  if (i.isChatInputCommand()) {
    await i.deferReply({ flags: MessageFlags.Ephemeral });
    await i.editReply(`/${i.commandName} of ${i.user.username}`);
  } else if (i.isButton()) {
    await i.reply({ content: `${i.customId} by ${i.user.username}`, flags: MessageFlags.Ephemeral });
  }
});
client.once(Events.ClientReady, async () => {
  const command = await client.application.commands.create({ name: "link", description: "x" });
  await client.rest.post(Routes.channelMessages(CHANNEL), { body: {
    flags: MessageFlags.IsComponentsV2, allowed_mentions: { parse: [] },
    components: [{ type: ComponentType.ActionRow, components: [{ type: ComponentType.Button, style: ButtonStyle.Primary, label: "Go", custom_id: "x" }] }],
  } });
  say("ready", { bot: client.user.username, application: client.application.id, command: command.name });
});
await client.login(DISCORD_TOKEN);
process.stdin.resume();
process.stdin.on("end", async () => {
  await client.destroy();
  process.exit(0);
});
