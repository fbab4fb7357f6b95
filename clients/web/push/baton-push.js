/**
 * Shows notifications of new messages, and opens the page with the chat: for the service worker of your own site.
 *
 * A service worker belongs to the site whose pages it controls, so Baton cannot bring one. Copy this file to your site,
 * and load it in your worker: `importScripts("/baton-push.js")`. It is a classic script, because not every browser
 * loads modules there.
 *
 * Your server sends the message of Web Push, whose data is JSON:
 * `{"baton": {"threadId": "...", "title": "...", "body": "...", "url": "/chat"}}`. Everything else is left to other
 * listeners. `url` is the page with the chat, of the worker's own origin.
 */
(() => {
  const MAX_BODY = 200;

  /** The fields of a message for this script; undefined for any other message. */
  const read = (data) => {
    try {
      const { threadId, title, body, url } = data.json().baton;
      const address = new URL(url ?? "/", self.location.origin);
      if (typeof threadId !== "string" || typeof title !== "string" || address.origin !== self.location.origin)
        return undefined;
      return { threadId, title, body: String(body ?? "").slice(0, MAX_BODY), url: address.href };
    } catch {
      return undefined;
    }
  };

  const windows = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

  /** Show the notification, unless the user looks at the page with the chat. One conversation has one. */
  const show = async ({ threadId, title, body, url }) => {
    const { pathname } = new URL(url);
    const isSeen = (page) => page.focused && new URL(page.url).pathname === pathname;
    if ((await windows()).some(isSeen)) return;
    await self.registration.showNotification(title, {
      body,
      tag: `baton:${threadId}`,
      renotify: true,
      data: { baton: { url, threadId } },
    });
  };

  /** Bring a page with the chat to the front, which learns of the conversation, or open one. */
  const open = async ({ url, threadId }) => {
    const { pathname } = new URL(url);
    const page = (await windows()).find((other) => new URL(other.url).pathname === pathname);
    if (page === undefined) return self.clients.openWindow(url);
    page.postMessage({ baton: { threadId } });
    return page.focus();
  };

  self.addEventListener("push", (event) => {
    const message = event.data === null ? undefined : read(event.data);
    if (message !== undefined) event.waitUntil(show(message));
  });

  self.addEventListener("notificationclick", (event) => {
    const conversation = event.notification.data?.baton;
    if (conversation === undefined) return;
    event.notification.close();
    event.waitUntil(open(conversation));
  });
})();
