// Plays Baton inside the page of benchmarks/widget.py: no other process takes time from the browser.
// window.given = {messages, pageSize}; window.stream(text, {characters, everyMs}) sends an answer.

(() => {
  const THREAD = "7f85e238-f3d3-5b57-85bf-638dd1efbd43";
  const AGENT = { id: "assistant", name: "Assistant", description: null, avatarUrl: null, isMain: true };
  const STATE = { activeAgent: AGENT, workflow: null, resumable: [], status: "active" };
  const { messages, pageSize } = window.given;
  let seq = 0;
  let socket = null;

  const json = (body, status = 200) => new Response(JSON.stringify(body), { status });
  window.fetch = async (address) => {
    const url = new URL(address, location.href);
    if (url.pathname.endsWith("/messages")) {
      const end = Number(url.searchParams.get("cursor") ?? messages.length);
      const start = Math.max(0, end - pageSize);
      return json({ items: messages.slice(start, end), nextCursor: start > 0 ? String(start) : null, lastSeq: seq });
    }
    if (/^\/v1\/threads\/[^/]+$/.test(url.pathname)) return json({ id: THREAD, state: STATE, run: null, lastSeq: seq });
    return json({ items: [], nextCursor: null }, 404);
  };

  window.WebSocket = class extends EventTarget {
    static OPEN = 1;
    readyState = 0;
    constructor() {
      super();
      socket = this;
      setTimeout(() => {
        this.readyState = 1;
        this.onopen?.();
      });
    }
    send(frame) {
      const { action } = JSON.parse(frame);
      if (action === "ping") setTimeout(() => this.heard({ type: "PONG" }));
      if (action === "resume") {
        const resume = { after: seq, lastSeq: seq, runId: null };
        const metadata = { threadId: THREAD, resume };
        setTimeout(() => this.heard({ type: "STATE_SNAPSHOT", snapshot: STATE, metadata }));
      }
    }
    heard(frame) {
      this.onmessage?.({ data: JSON.stringify(frame) });
    }
    close() {
      this.readyState = 3;
    }
  };

  const play = (event) => {
    seq += 1;
    socket.heard({ ...event, metadata: { threadId: THREAD, runId: "r-1", seq, attempt: 1, ...event.metadata } });
  };

  /** Sends `text` in slices of so many characters, one every so many milliseconds; resolves to the time that each took. */
  window.stream = async (text, { characters, everyMs }) => {
    const said = [{ id: "u-1", role: "user", content: "Tell me everything" }];
    play({ type: "RUN_STARTED", runId: "r-1", threadId: THREAD, input: { messages: said }, metadata: { messageId: "u-1" } });
    play({ type: "TEXT_MESSAGE_START", messageId: "a-1", role: "assistant", name: "Assistant" });
    const took = []; // milliseconds that the page takes for a slice, layout included, painting not
    for (let at = 0; at < text.length; at += characters) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      let frameBegan = 0;
      requestAnimationFrame(() => {
        frameBegan = performance.now(); // before the widget draws
      });
      const began = performance.now();
      play({ type: "TEXT_MESSAGE_CONTENT", messageId: "a-1", delta: text.slice(at, at + characters) });
      await null; // what it does at once
      const heard = performance.now() - began;
      await new Promise((resolve) => requestAnimationFrame(resolve)); // after the widget has drawn
      took.push(heard + performance.now() - frameBegan);
    }
    play({ type: "TEXT_MESSAGE_END", messageId: "a-1" });
    play({ type: "RUN_FINISHED", runId: "r-1", outcome: { type: "success" } });
    return took;
  };

  /** Notes the times between frames until `stop()`, which returns them in milliseconds. */
  window.frames = () => {
    const times = [];
    let last = performance.now();
    let isOver = false;
    const noted = (now) => {
      times.push(now - last);
      last = now;
      if (!isOver) requestAnimationFrame(noted);
    };
    requestAnimationFrame((now) => {
      last = now;
      requestAnimationFrame(noted);
    });
    return { stop: () => ((isOver = true), times) };
  };

  /** Counts what changes in the widget until `stop()`: nodes that come, go or get other text, and drawn components. */
  window.changes = () => {
    const counts = { nodes: 0, messages: 0 };
    const observer = new MutationObserver((records) => {
      for (const { addedNodes, removedNodes } of records) counts.nodes += addedNodes.length + removedNodes.length || 1;
    });
    const root = document.querySelector("baton-chat").shadowRoot;
    observer.observe(root, { subtree: true, childList: true, characterData: true });
    const { prototype } = customElements.get("baton-chat-message");
    const update = prototype.performUpdate;
    prototype.performUpdate = function () {
      counts.messages += 1;
      return update.call(this);
    };
    return {
      stop: () => {
        observer.disconnect();
        prototype.performUpdate = update;
        return counts;
      },
    };
  };
})();
