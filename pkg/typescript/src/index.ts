export { Askbus, type AskbusOptions, type WaitOptions } from './client.js'
export {
  AskNotAnswered, type Aborted, type Answered, type Asking, type AskRef, type Declined, type End, type Expired, type Pending, type Replied, type Unfit,
  type Withdrawn,
} from './ends.js'
export { AskbusError } from './http.js'
export type {
  AskOptions, ChoiceField, ConfirmField, DateField, Field, Issue, NumberField, Options, Other, StandardSchema, TextField, Value, Values,
} from './questions.js'
export { webhook, type WebhookEvent, type WebhookRequest } from './webhook.js'
export type { Answer, Ask, By, File, Limits, Option, Outcome, Page, Problem, Question, Receipt, Status } from './wire.js'
