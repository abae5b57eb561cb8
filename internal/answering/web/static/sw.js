// The service worker: it shows notifications, for open pages and for push
// messages, and carries out their actions. It caches nothing.

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

const pages = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

async function show(n) {
  const before = await self.registration.getNotifications({ tag: n.tag });
  if (n.ended) {
    // Replace a visible notification silently, and do not reopen one that was
    // dismissed.
    if (before.length === 0) return;
    await self.registration.showNotification(n.title, { body: n.body, tag: n.tag, silent: true, icon: '/static/-/icon-192.png', data: n });
    return;
  }
  if (before.some((b) => b.data?.life === n.life)) return; // a second message for the same life
  const focused = (await pages()).some((c) => c.focused);
  if (focused) return;
  const most = self.Notification?.maxActions ?? 0;
  const choices = n.choices ?? [];
  await self.registration.showNotification(n.title, {
    body: n.body, tag: n.tag, icon: '/static/-/icon-192.png', badge: '/static/-/icon-192.png', data: n, requireInteraction: Boolean(n.urgent),
    actions: choices.length <= most ? choices.map((c) => ({ action: c.id, title: c.label })) : [],
  });
}

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

async function pick(n, option) {
  const body = new URLSearchParams({ option, life: n.life ?? '', answer_id: `n-${n.life}-${option}`.replaceAll(/[^\w-]/g, '-').slice(0, 64) });
  const answer = await fetch(`${n.path}/pick`, { method: 'POST', body }).catch(() => undefined);
  if (!answer?.ok) await open(n.path);
}

self.addEventListener('push', (event) => {
  let n;
  try { n = event.data.json(); } catch { return; }
  event.waitUntil(show(n));
});

self.addEventListener('message', (event) => {
  const { show: n, close: tag } = event.data ?? {};
  if (n) event.waitUntil(show(n));
  if (tag) event.waitUntil(close(tag));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const n = event.notification.data;
  if (!n?.path?.startsWith('/ask/')) return;
  event.waitUntil(event.action ? pick(n, event.action) : open(n.path));
});

self.addEventListener('pushsubscriptionchange', (event) => {
  const key = event.oldSubscription?.options?.applicationServerKey;
  if (!key) return;
  event.waitUntil(self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
    .then((sub) => fetch('/push/subscribe', { method: 'POST', body: JSON.stringify(sub) })));
});
