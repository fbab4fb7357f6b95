import { type CSSResult, html, LitElement, nothing, type TemplateResult } from "lit";
import type { Chat, ChatSnapshot } from "#client";
import { Locale } from "./locales/index.ts";
// Most components need these: each file of their own would be a request, and larger than it is here.
import "./cards.ts";
import "./failures.ts";
import "./icons.ts";
import "./keys.ts";
import "./sources.ts";

/** What every component needs; a new object when any of it changes. */
export interface Ui {
  readonly locale: Locale;
  readonly chat: Chat | null;
  /** The time, in milliseconds of `performance.now()`; for tests. */
  readonly now: () => number;
}

export const NO_UI: Ui = { locale: new Locale(), chat: null, now: () => performance.now() };

/** The number of unread answers as a badge shows it. The label of the badge's button has the same text (WCAG 2.5.3). */
export const badgeText = (count: number): string => (count > 9 ? "9+" : `${count}`);

/** The number of unread answers at a button. */
export const badge = (count: number): TemplateResult | typeof nothing =>
  count > 0 ? html`<span class="badge" part="badge" aria-hidden="true">${badgeText(count)}</span>` : nothing;

/** Nothing is being answered, and there is a connection. */
export const isIdle = (snapshot: ChatSnapshot | null | undefined): boolean =>
  snapshot?.run === null && snapshot.connection.status === "open";

/** Adds a style sheet to the widget in which the element stands, once. */
export function adopt(sheet: CSSResult | null, element: Element): void {
  const { adoptedStyleSheets } = element.getRootNode() as Partial<ShadowRoot>; // none once it was removed
  const styles = sheet?.styleSheet;
  if (styles && adoptedStyleSheets?.includes(styles) === false) adoptedStyleSheets.push(styles);
}

/** A component inside the widget's one shadow root: its own content is light, so that `part`s and styles reach it. */
export abstract class Piece extends LitElement {
  static override properties: Record<string, object> = { ui: { attribute: false } };
  /** The style sheet of a component that most conversations do not show: it is loaded and adopted with it. */
  static readonly sheet: CSSResult | null = null;
  declare ui: Ui;

  constructor() {
    super();
    this.ui = NO_UI;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    adopt((this.constructor as typeof Piece).sheet, this);
  }

  get say(): Locale["say"] {
    return this.ui.locale.say;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** Registers a component once, also where two copies of the widget are on one page. */
export function define(name: string, component: CustomElementConstructor): void {
  if (!customElements.get(name)) customElements.define(name, component);
}
