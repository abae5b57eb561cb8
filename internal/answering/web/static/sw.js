// The service worker: it shows notifications, for open pages and for push
// messages, and carries out their actions. It caches nothing.

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

const pages = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

const icon = '/static/-/icon-192.png';

// arrive shows a test even to somebody who looks at a page, and tells the pages.
async function arrive(n) {
  const shown = await self.registration.showNotification(n.title, { body: n.body, tag: n.tag, icon, badge: icon, data: n }).then(() => true, () => false);
  for (const page of await pages()) page.postMessage({ arrived: n.test, shown });
}

// show shows what an ask says, unless somebody looks at a page. A sender is the page that asks for it, and knows that nobody
// looks at it: what the browser says here can be older.
async function show(n, sender) {
  if (n.test) { await arrive(n); return; }
  const before = await self.registration.getNotifications({ tag: n.tag });
  if (n.alone) { // everybody is told aloud, once
    if (before.some((b) => b.data?.alone && b.data.life === n.life)) return;
    await self.registration.showNotification(n.title, { body: n.body, tag: n.tag, renotify: true, icon, badge: icon, data: n });
    return;
  }
  if (n.ended) {
    // Replace a visible notification silently, and do not reopen one that was
    // dismissed.
    if (before.length === 0) return;
    await self.registration.showNotification(n.title, { body: n.body, tag: n.tag, silent: true, icon, data: n });
    return;
  }
  if (before.some((b) => b.data?.life === n.life)) return; // a second message for the same life
  // A window that was just minimized is hidden, and may still have the focus.
  if ((await pages()).some((c) => c.id !== sender && c.focused && c.visibilityState === 'visible')) return;
  const most = self.Notification?.maxActions ?? 0;
  const choices = n.choices ?? [];
  await put(n.title, {
    body: n.body, tag: n.tag, icon, badge: icon, data: n, requireInteraction: Boolean(n.urgent),
    actions: choices.length <= most ? choices.map((c) => ({ action: c.id, title: c.label })) : [],
  });
}

// put shows a notification. Chromium forgets one whose list is read before it is on the screen, as by a page just then: a
// touch would do nothing, and it would never close. Shown again with the same tag, it is the same one.
async function put(title, options) {
  await self.registration.showNotification(title, options);
  if ((await self.registration.getNotifications({ tag: options.tag })).length === 0) await self.registration.showNotification(title, options);
}

// close closes the notification of an ask; those of all, if the tag is empty.
async function close(tag) {
  for (const n of await self.registration.getNotifications({ tag })) n.close();
}

async function open(path) {
  const all = await pages();
  const page = all.find((c) => c.visibilityState === 'visible') ?? all[0];
  if (!page) { await self.clients.openWindow(path); return; }
  page.postMessage({ visit: path });
  await page.focus().catch(() => {});
}

// pick answers with a touch of a notification. If that does not count, the
// notification comes back and says why; a touch then opens the ask.
async function pick(n, option) {
  const body = new URLSearchParams({ option, me: n.me, life: n.life ?? '', answer_id: `n-${n.life}-${option}`.replaceAll(/[^\w-]/g, '-').slice(0, 64) });
  let why = n.uncounted ?? '';
  try {
    const answer = await fetch(`${n.path}/pick`, { method: 'POST', body, signal: AbortSignal.timeout(20_000) });
    if (answer.ok) return;
    if (answer.headers.get('Content-Type')?.startsWith('text/plain')) why = (await answer.text()).trim(); // else it is the sign-in
  } catch { /* no network */ }
  await self.registration.showNotification(n.title, { body: why, tag: n.tag, icon, badge: icon, data: n, requireInteraction: true });
}

self.addEventListener('push', (event) => {
  let n;
  try { n = event.data.json(); } catch { return; }
  event.waitUntil(show(n));
});

self.addEventListener('message', (event) => {
  const { show: n, close: tag } = event.data ?? {};
  if (n) event.waitUntil(show(n, event.source?.id));
  if (tag !== undefined) event.waitUntil(close(tag));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const n = event.notification.data;
  if (n?.path !== '/' && !n?.path?.startsWith('/ask/')) return;
  event.waitUntil(event.action ? pick(n, event.action) : open(n.path));
});

// Who dismisses a notification has seen it: no chat tells them of it.
self.addEventListener('notificationclose', (event) => {
  const n = event.notification.data;
  if (!n?.path?.startsWith('/ask/') || n.ended) return;
  event.waitUntil(fetch(`${n.path}/attend`, { method: 'POST', body: new URLSearchParams({ state: 'gone', me: n.me }), signal: AbortSignal.timeout(20_000) }).catch(() => {}));
});

self.addEventListener('pushsubscriptionchange', (event) => {
  const key = event.oldSubscription?.options?.applicationServerKey;
  if (!key) return;
  event.waitUntil(self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
    .then((sub) => fetch('/push/subscribe', { method: 'POST', body: JSON.stringify(sub) })));
});
