/** One event of a stream: its sequence number, if it has one, and its data as JSON. */
export interface StreamEvent {
  readonly id: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

const MAX_PENDING = 4 * 1024 * 1024;

/** Reads `text/event-stream` from an answer. Comments are skipped; data that is no JSON object ends with an error. */
export async function* eventsOf(answer: Response): AsyncGenerator<StreamEvent> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let pending = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      pending += value.replaceAll("\r\n", "\n");
      const frames = pending.split("\n\n");
      pending = frames.pop() ?? "";
      if (pending.length > MAX_PENDING) throw new Error("An event of the stream is too long.");
      for (const frame of frames) {
        const event = eventOf(frame);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function eventOf(frame: string): StreamEvent | null {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    else if (line.startsWith("id:")) id = line.slice(3).trim();
  }
  return data.length ? { id, data: JSON.parse(data.join("\n")) as Record<string, unknown> } : null;
}
