// The scripts' messages, in the page's language; the page contains them.

const table = JSON.parse(document.getElementById('words')?.textContent || '{}');
export const language = document.documentElement.lang || 'en';
const rules = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language, { useGrouping: false }); // created once: creating one takes as long as drawing a row

// say returns a message with its values. The first number chooses the plural
// form.
export function say(text, ...args) {
  const n = args.find((arg) => typeof arg === 'number');
  const found = table[text] ?? text.split('|')[0];
  const pattern = typeof found === 'string' ? found : found[`=${n}`] ?? found[rules.select(n)] ?? found.other;
  let next = 0;
  return pattern.replace(/%(?:\[(\d)\])?[sd]/g, (_, at) => {
    const arg = args[at ? at - 1 : next++];
    return typeof arg === 'number' ? numbers.format(arg) : arg;
  });
}
