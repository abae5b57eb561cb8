// A page with one message and a command to copy.
import { say } from './words.js';

for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent);
      button.textContent = say('Copied');
    } catch { button.textContent = say('Select it by hand'); }
  });
}
