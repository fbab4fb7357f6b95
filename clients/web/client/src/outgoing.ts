import type { Api } from "./api.ts";
import { uuid } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { Conversation } from "./conversation.ts";
import { type BatonError, NetworkError } from "./errors.ts";
import type { Item } from "./items.ts";
import type { Offer } from "./offer.ts";
import { fits, type Outbox } from "./outbox.ts";
import { type Refusal, TimeZone } from "./time-zone.ts";
import type { ClientFrame, Content } from "./wire.ts";

export interface OutgoingHost {
  readonly threadId: string;
  readonly api: Api;
  readonly talk: Conversation;
  readonly connection: Connection;
  readonly outbox: Outbox;
  readonly offer: Offer;
  /** A message that went by HTTP was answered. */
  readonly posted: () => void;
  /** A message was refused; its item tells why. */
  readonly refused: (messageId: string) => void;
  readonly changed: () => void;
}

/** How messages, wishes and answers go: in a frame, or by HTTP where no frame can hold them. */
export class Outgoing {
  readonly #host: OutgoingHost;
  readonly #posting = new Map<string, AbortController>();
  readonly #zone = new TimeZone();

  constructor(host: OutgoingHost) {
    this.#host = host;
  }

  /** Everything that is kept goes again, under its id: never a second turn. */
  again(): void {
    const { frames } = this.#host.outbox;
    for (const frame of frames) this.transmit(frame);
    if (frames.length) this.#host.connection.ping();
  }

  /** What nothing was heard of goes again; what is being posted goes on. */
  nudge(): void {
    for (const frame of this.#host.outbox.frames.map(this.#withOffer))
      if (fits(frame)) this.#host.connection.send(frame);
  }

  end(): void {
    for (const posting of this.#posting.values()) posting.abort();
  }

  /** Sends what another tab, or a page before this one, has said, once that is gone. */
  inherit(key: string): void {
    this.#host.outbox.inherit(key, (frame) => {
      if (frame.action === "answer") {
        this.#host.talk.change(key, { answer: frame.status } as Partial<Item>);
        this.#host.connection.send(frame);
      } else this.transmit(frame);
      this.#host.changed();
    });
  }

  /** The wish has an id, new for each press of the button, so that a repeat is no second wish. */
  branch(fields: { content?: Content; branch: { from: string; regenerate?: boolean } }): string {
    const messageId = uuid();
    const frame: ClientFrame = { action: "message", threadId: this.#host.threadId, messageId, ...fields };
    this.#host.outbox.add(messageId, frame);
    this.transmit(frame);
    this.#host.changed();
    return messageId;
  }

  transmit(frame: ClientFrame): void {
    const whole = this.#withOffer(frame);
    if (fits(whole)) this.#host.connection.send(whole);
    else void this.#post(whole);
  }

  /** Whether a message was refused for its time zone alone: it goes again without. */
  goesWithoutZone(refusal: Refusal): boolean {
    const goes = this.#zone.isRefusedBy(refusal);
    if (goes) this.nudge();
    return goes;
  }

  /** The offers of the page and the time zone are those of the moment when the message is sent. */
  readonly #withOffer = (frame: ClientFrame): ClientFrame =>
    frame.action === "message" ? { ...frame, ...this.#host.offer.fields(), ...this.#zone.fields() } : frame;

  /** Sends a message that no frame can hold. Its answer comes when the turn has ended. */
  async #post(frame: ClientFrame): Promise<void> {
    const messageId = String(frame.messageId);
    this.#posting.get(messageId)?.abort();
    const request = new AbortController();
    this.#posting.set(messageId, request);
    try {
      await this.#host.api.run(inputOf(frame), request.signal);
      this.#host.outbox.done(messageId);
      this.#host.posted();
    } catch (error) {
      if (request.signal.aborted || (error instanceof NetworkError && !this.#host.connection.isOpen)) return; // it is posted again
      if (this.#zone.isRefusedBy(error as BatonError)) {
        const { timeZone: _, ...rest } = frame;
        this.transmit(rest as ClientFrame);
        return;
      }
      this.#host.outbox.done(messageId);
      const { message: text, status, ...rest } = error as BatonError;
      const failed = { ...rest, text, sameId: status !== 502, askedBy: messageId };
      this.#host.talk.change(messageId, { failed });
      this.#host.refused(messageId);
    }
    this.#host.changed();
  }

  /** Sends a wish that the conversation's events will answer. */
  wish(fields: ClientFrame): void {
    const frame = { threadId: this.#host.threadId, ...fields };
    this.#host.outbox.wish(frame);
    this.#host.connection.send(frame);
    this.#host.connection.ping();
    this.#host.changed();
  }
}

/** A message as AG-UI's run input. The connection tells how it is answered, so the run goes on without this request. */
function inputOf(frame: ClientFrame): object {
  const {
    threadId,
    messageId,
    content,
    agentId,
    branch,
    timeZone,
    locale,
    whileBusy,
    overSpending,
    tools = [],
    context = [],
  } = frame;
  const isRegenerated = content === undefined;
  const id = String(messageId);
  return {
    threadId,
    runId: uuid(),
    messages: isRegenerated ? [] : [{ id, role: "user", content }],
    tools,
    context,
    state: {},
    forwardedProps: {
      onDisconnect: "continue",
      ...(agentId !== undefined && { agentId }),
      ...(timeZone !== undefined && { timeZone }),
      ...(locale !== undefined && { locale }),
      ...(whileBusy !== undefined && { whileBusy }),
      ...(overSpending !== undefined && { overSpending }),
      ...(branch !== undefined && { branch: isRegenerated ? { ...(branch as object), messageId: id } : branch }),
    },
    protocolVersion: "1.0",
  };
}
