// Microsoft's parser of Adaptive Cards reads the cards that a surface drew, and says what it does not understand.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { createRequire } from 'node:module';

globalThis.self = globalThis; // its build for browsers: the other has imports that node does not find
const AC = createRequire(import.meta.url)('adaptivecards/dist/adaptivecards.js');

for (const file of process.argv.slice(2)) {
  const context = new AC.SerializationContext(AC.Versions.v1_5);
  const card = new AC.AdaptiveCard();
  card.parse(JSON.parse(readFileSync(file, 'utf8')), context);
  const results = card.validateProperties();
  const wrong = [];
  for (let i = 0; i < context.eventCount; i++) wrong.push(context.getEventAt(i).message);
  wrong.push(...results.validationEvents.map((e) => e.message));
  const inputs = card.getAllInputs(true).map((i) => `${i.getJsonTypeName()} ${i.id}`);
  console.log(JSON.stringify({ name: basename(file), wrong, inputs, items: card.getItemCount(), refresh: card.refresh?.action?.verb ?? '' }));
}
