// Files in answers: a pasted screenshot, or one that is chosen. The inbox stores
// them at once, and the form refers to them. The bus forgets what no answer refers
// to after ten minutes, so this browser keeps the bytes with the draft.
import { $, $$, request } from './page.js';
import { changed, remember } from './drafts.js';
import { say } from './words.js';

const most = 8;
const fresh = 8 * 60e3; // ms for which an upload is certainly there
const keep = 30 * 86400e3;

const store = () => new Promise((resolve, reject) => {
  const open = indexedDB.open('askbus', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('files');
  open.onsuccess = () => resolve(open.result);
  open.onerror = () => reject(open.error);
});

async function kept(mode, use) {
  try {
    const db = await store();
    return await new Promise((resolve) => {
      const done = use(db.transaction('files', mode).objectStore('files'));
      done.onsuccess = () => { db.close(); resolve(done.result); };
      done.onerror = () => { db.close(); resolve(undefined); };
    });
  } catch { return undefined; } // no storage: the upload is there for ten minutes
}

const field = (question) => $('[data-files]', question) ?? $('[data-files]', question.closest('form'));
const refs = (input) => { try { return JSON.parse(input.value || '[]'); } catch { return []; } };

async function put(article, name, blob) {
  const answer = await request(`${article.dataset.path}/file?${new URLSearchParams({ name })}`, { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: blob });
  if (!answer.ok) throw new Error(await answer.text());
  const ref = await answer.json();
  await kept('readwrite', (files) => files.put({ blob, at: Date.now() }, ref.id));
  return ref;
}

async function add(input, files) {
  const article = input.closest('article');
  const status = $('.attach-status', input.parentElement);
  input.closest('details')?.setAttribute('open', '');
  for (const file of files) {
    status.textContent = say('Uploading %s …', file.name);
    try {
      const ref = await put(article, file.name, file);
      const all = refs(input).filter(({ id }) => id !== ref.id);
      if (all.length >= most) throw new Error(say('An answer has at most 8 files.'));
      input.value = JSON.stringify([...all, ref]);
      status.textContent = '';
    } catch (e) {
      status.textContent = say('Not attached: %s', e instanceof TypeError || e.name === 'TimeoutError' ? say('the inbox cannot be reached') : e.message);
    }
  }
  changed(input);
  remember(article);
  draw(input);
}

// draw lists the files of a form, each with a button that takes it out.
async function draw(input) {
  const list = $('.attached', input.parentElement);
  const items = await Promise.all(refs(input).map(async (ref) => {
    const li = document.createElement('li');
    const has = await kept('readonly', (files) => files.get(ref.id));
    if (has && ref.media_type.startsWith('image/')) {
      const img = document.createElement('img');
      img.alt = '';
      const reader = new FileReader(); // img-src allows data:, and no blob:
      reader.onload = () => { img.src = reader.result; };
      reader.readAsDataURL(new Blob([has.blob], { type: ref.media_type }));
      li.append(img);
    }
    const name = document.createElement('bdi');
    name.textContent = ref.name;
    const drop = document.createElement('button');
    drop.type = 'button';
    drop.className = 'second';
    drop.textContent = say('Remove');
    drop.ariaLabel = say('Remove %s', ref.name);
    drop.addEventListener('click', () => {
      input.value = JSON.stringify(refs(input).filter(({ id }) => id !== ref.id));
      if (input.value === '[]') input.value = '';
      changed(input);
      remember(input.closest('article'));
      draw(input);
    });
    li.append(name, ' ', drop);
    return li;
  }));
  list.replaceChildren(...items);
}

// show makes the buttons of a card work, and lists what its draft has.
export function show(article) {
  for (const input of $$('[data-files]', article)) {
    const part = input.parentElement;
    if (!$('.attach', part).hidden) continue; // its buttons work already
    $('.attach', part).hidden = false;
    const pick = $('[type=file]', part);
    $('[data-attach]', part).addEventListener('click', () => pick.click());
    pick.addEventListener('change', () => { add(input, [...pick.files]); pick.value = ''; });
    if (input.value) { input.closest('details')?.setAttribute('open', ''); draw(input); }
  }
}

// renew uploads again what the bus may have forgotten, before an answer is sent.
export async function renew(form) {
  for (const input of $$('[data-files]', form)) {
    for (const ref of refs(input)) {
      const has = await kept('readonly', (files) => files.get(ref.id));
      if (has && Date.now() - has.at > fresh) await put(form.closest('article'), ref.name, has.blob);
    }
  }
}

document.addEventListener('paste', (event) => {
  const files = [...event.clipboardData?.files ?? []];
  const form = event.target.closest?.('form.answer') ?? $('.answer');
  if (files.length === 0 || !form || form.hasAttribute('data-closed')) return;
  const input = field(event.target.closest?.('.question') ?? form);
  if (!input) return;
  event.preventDefault();
  add(input, files);
});

// What nobody came back to goes.
kept('readwrite', (files) => {
  const all = files.openCursor();
  all.addEventListener('success', () => {
    const at = all.result;
    if (at && Date.now() - at.value.at > keep) at.delete();
    at?.continue();
  });
  return files.count();
});
