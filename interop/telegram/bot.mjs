// A bot of grammY: it posts a question with buttons, and when one is pressed it acknowledges the press, edits the message,
// edits it again to the same words, and says what it saw of each.
import { Bot, GrammyError, InlineKeyboard } from 'grammy'

const plan = JSON.parse(process.argv[2])
const say = (result) => process.stdout.write(JSON.stringify({ index: 0, result }) + '\n')
const refusal = (error) => (error instanceof GrammyError ? `${error.error_code} ${error.description}` : String(error))

const bot = new Bot(plan.token, { client: { apiRoot: plan.url } })
await bot.init()
bot.on('callback_query:data', async (ctx) => {
  const from = ctx.callbackQuery.from.id
  const acknowledged = await ctx.answerCallbackQuery({ text: 'stored', show_alert: true })
  const edited = await ctx.editMessageText(`Mei chose ${ctx.callbackQuery.data}`)
  const again = await ctx.editMessageText(`Mei chose ${ctx.callbackQuery.data}`).catch(refusal)
  const long = await ctx.reply('x'.repeat(4097)).catch(refusal)
  const data = await ctx.reply('x', { reply_markup: new InlineKeyboard().text('x', 'y'.repeat(65)) }).catch(refusal)
  say({ from, acknowledged, text: edited.text, again, long, data })
})
bot.on('message:text', async (ctx) => {
  await ctx.reply('and you?', { reply_parameters: { message_id: ctx.message.message_id }, reply_markup: { force_reply: true } })
  say({ wrote: ctx.message.text, private: ctx.chat.type })
})
const sent = await bot.api.sendMessage(plan.chat, 'Which database?', { reply_markup: new InlineKeyboard().text('PostgreSQL', 'pg').text('SQLite', 'lite') })
say({ me: bot.botInfo.username, sent: sent.message_id })
await bot.start({ timeout: 5 })
