import { css, html, LitElement, type TemplateResult } from "lit";
import { base } from "../styles/base.ts";
import { texts } from "../texts.ts";

/** One field by which a list is narrowed; its value is a parameter of the address. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  /** A `time` is shown in the reader's time zone, and is an ISO time in UTC as a value. */
  readonly kind: "search" | "text" | "number" | "choice" | "time";
  readonly choices?: readonly (readonly [value: string, label: string])[];
  readonly maxLength?: number;
}

/** Returns what the address narrows a list to: the parameters that are filters and not empty. */
export function chosen(
  filters: readonly Filter[],
  parameters: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const given = filters.flatMap(({ name }) => (parameters[name] ? [[name, parameters[name]]] : []));
  return Object.fromEntries(given);
}

/** Fields that narrow a list; fires `change` with all values, null for empty ones, when it is submitted. */
export class FilterBar extends LitElement {
  static override properties = { filters: { attribute: false }, values: { attribute: false } };
  static override styles = [
    base,
    css`
      form { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: end; margin-block-end: 12px; }
      input, select { block-size: 36px; }
      input[type="number"] { inline-size: 110px; }
      input[type="text"] { inline-size: 150px; }
    `,
  ];
  declare filters: readonly Filter[];
  declare values: Readonly<Record<string, string>>;

  constructor() {
    super();
    this.filters = [];
    this.values = {};
  }

  protected override render(): TemplateResult {
    return html`<form role="search" @submit=${this.#submitted} @change=${this.#changed}>
      ${this.filters.map((each) => html`<label>${each.label}${this.#field(each)}</label>`)}
      <button type="submit" class="primary">${texts.find}</button>
      <button type="button" @click=${this.#cleared}>${texts.clear}</button>
    </form>`;
  }

  #field({ name, kind, choices, maxLength }: Filter): TemplateResult {
    const value = this.values[name] ?? "";
    if (kind === "choice") {
      return html`<select name=${name} .value=${value}>
        <option value="" ?selected=${value === ""}>${texts.any}</option>
        ${choices?.map(([each, label]) => html`<option value=${each} ?selected=${value === each}>${label}</option>`)}
      </select>`;
    }
    if (kind === "time") return html`<input type="datetime-local" name=${name} .value=${localTime(value)} />`;
    if (kind === "number") return html`<input type="number" name=${name} min="0" step="any" .value=${value} />`;
    return html`<input type=${kind} name=${name} maxlength=${maxLength ?? 256} dir="auto" spellcheck="false" autocomplete="off" .value=${value} />`;
  }

  #changed = (event: Event): void => {
    if ((event.target as HTMLElement).tagName === "SELECT") this.#tell();
    event.stopPropagation(); // only this element's own `change` is of use outside
  };

  #submitted = (event: SubmitEvent): void => {
    event.preventDefault();
    this.#tell();
  };

  #cleared = (): void => {
    this.renderRoot.querySelector("form")?.reset();
    this.dispatchEvent(
      new CustomEvent("change", { detail: Object.fromEntries(this.filters.map(({ name }) => [name, null])) }),
    );
  };

  #tell(): void {
    const form = this.renderRoot.querySelector("form");
    if (!form) return;
    const fields = new FormData(form);
    const detail = Object.fromEntries(
      this.filters.map((each) => [each.name, givenBy(each, String(fields.get(each.name) ?? "").trim())]),
    );
    this.dispatchEvent(new CustomEvent("change", { detail }));
  }
}

function givenBy({ kind }: Filter, text: string): string | null {
  if (!text) return null;
  if (kind !== "time") return text;
  const date = new Date(text);
  return Number.isNaN(date.valueOf()) ? null : date.toISOString();
}

function localTime(value: string): string {
  const date = new Date(value);
  if (!value || Number.isNaN(date.valueOf())) return "";
  return new Date(date.valueOf() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

customElements.define("filter-bar", FilterBar);
