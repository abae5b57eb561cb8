// The buttons that copy the command beside them.
import { say } from './words.js';

for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;

document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent);
    button.textContent = say('Copied');
  } catch { button.textContent = say('Select it by hand'); }
});
