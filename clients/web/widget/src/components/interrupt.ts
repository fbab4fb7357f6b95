import { html, nothing, type TemplateResult } from "lit";
import type { CardField, InterruptAnswer, InterruptItem, JsonSchema } from "#client";
import { approvalCard, fieldsOf, isForDevelopers, offerCard } from "../cards.ts";
import type { Sentence } from "../locales/index.ts";
import { interrupt } from "../styles/interrupt.ts";
import { define, Piece } from "../ui.ts";
import { indented } from "./tool.ts";
import "../locales/later.ts";

const ANSWERS: Readonly<Record<NonNullable<InterruptItem["answer"]>, Sentence>> = {
  resolved: "approved",
  cancelled: "refused",
  answered: "answered",
  passed: "notAnswered",
};

/** What a run waits for: an approval with two buttons, or a form made of the schema that the answer must have. */
export class BatonInterrupt extends Piece {
  static override readonly sheet = interrupt;
  static override properties = { ...Piece.properties, item: { attribute: false } };
  declare item: InterruptItem;
  /** What the page waits for that was told of the question. */
  #told: ((answer: InterruptAnswer) => void) | null = null;
  #isShown = true;

  protected override willUpdate(): void {
    const { interrupt, answer, settled } = this.item;
    if (answer && settled) this.#told?.(answer);
    if (this.#told || answer || interrupt.reason === "client_tool" || inputsOf(interrupt.responseSchema).length) return;
    const answered = new Promise<InterruptAnswer>((resolve) => {
      this.#told = resolve;
    });
    const give = (status: "resolved" | "cancelled", payload?: unknown) => {
      if (!this.item.answer) this.ui.chat?.answer(interrupt.id, status, payload);
    };
    this.#isShown = offerCard(this, "baton-approval", approvalCard(this.item, give, answered));
  }

  protected override render(): TemplateResult | typeof nothing {
    const { interrupt, answer } = this.item;
    if (interrupt.reason === "client_tool") return this.#call();
    // Of an answered one the widget shows what was asked and answered, unless the page's own card stays.
    return html`<slot name="approval-${interrupt.id}">${this.#isShown || answer ? this.#card() : nothing}</slot>`;
  }

  #card(): TemplateResult {
    const { interrupt, answer, settled } = this.item;
    const inputs = inputsOf(interrupt.responseSchema);
    return html`
      <section class="interrupt" part="interrupt" aria-label=${this.say("approval")}>
        ${interrupt.metadata?.label ? html`<p class="label" dir="auto">${interrupt.metadata.label}</p>` : nothing}
        <p class="question" dir="auto">${interrupt.message ?? this.say("approval")}</p>
        ${this.#arguments()}
        ${answer ? html`<p class="answer">${this.#answerOf(answer, inputs.length > 0)}${settled ? nothing : "…"}</p>` : this.#form(inputs)}
      </section>
    `;
  }

  /** What the question does not say, and what it says in a list that can be opened: nobody permits what they cannot see. */
  #arguments(): TemplateResult | typeof nothing {
    const { args } = this.item;
    const json = args
      ? html`<pre tabindex="0" role="group" aria-label=${this.say("input")} dir="ltr"><code>${indented(args)}</code></pre>`
      : nothing;
    const fields = fieldsOf(this.item);
    if (!fields) return html`${json}`;
    const asked = fields.filter((field, at) => field.inText || headsAsked(fields, at));
    const opened = isForDevelopers(this) ? json : nothing;
    return html`
      ${this.#list(fields.filter(({ inText }) => !inText))}
      ${asked.length || opened !== nothing ? html`<details part="details"><summary>${this.say("details")}</summary>${this.#list(asked)}${opened}</details>` : nothing}
    `;
  }

  #list(fields: readonly CardField[]): TemplateResult | typeof nothing {
    if (fields.length === 0) return nothing;
    const row = ({ label, text, depth }: CardField) =>
      html`<div class="depth-${depth} ${text ? "" : "heading"}"><dt dir="auto">${label}</dt><dd dir="auto">${text}</dd></div>`;
    return html`<dl class="fields" part="fields" tabindex="0" aria-label=${this.say("details")}>${fields.map(row)}</dl>`;
  }

  /** The page's own code answers it, in this window or in another one; the user may give it up. */
  #call(): TemplateResult | typeof nothing {
    const { call, answer, settled, interrupt } = this.item;
    if (settled || answer) return nothing;
    const name = String(interrupt.metadata?.toolName ?? interrupt.toolCallId ?? "");
    const here = html`<button type="button" class="secondary small" part="button run-button" @click=${() => this.ui.chat?.callHere(interrupt.id)}>${this.say("runHere")}</button>`;
    return html`<section class="call" part="call">
      <p role="status" dir="auto">${this.say(call === "running" ? "runningHere" : "runningElsewhere", { name })}</p>
      <p class="buttons">${call === "offered" ? here : nothing}
        <button type="button" class="secondary small" part="button cancel-button" @click=${this.#refuse}>${this.say("cancel")}</button></p>
    </section>`;
  }

  #answerOf(answer: NonNullable<InterruptItem["answer"]>, isForm: boolean): string {
    return this.say(isForm && answer === "resolved" ? "answered" : ANSWERS[answer]);
  }

  #form(inputs: readonly Field[]): TemplateResult {
    const { expiresAt } = this.item.interrupt;
    const expires = new Date(expiresAt ?? Number.NaN);
    const isForm = inputs.length > 0;
    return html`
      <form @submit=${this.#submit}>
        ${inputs.map((input) => this.#field(input))}
        <p class="buttons">
          <button type="submit" class="primary" part="button approve-button">${this.say(isForm ? "submit" : "approve")}</button>
          <button type="button" class="secondary" part="button refuse-button" @click=${this.#refuse}>${this.say(isForm ? "cancel" : "refuse")}</button>
        </p>
        ${Number.isNaN(expires.valueOf()) ? nothing : html`<p class="until">${this.say("until", { time: this.ui.locale.time(expires, "long") })}</p>`}
      </form>
    `;
  }

  #field({ name, schema, isRequired }: Field): TemplateResult {
    const label = schema.title ?? name;
    const hint = schema.description ? html`<span class="hint" dir="auto">${schema.description}</span>` : nothing;
    const type = typeOf(schema);
    if (type === "boolean") {
      return html`<label class="check"><input type="checkbox" name=${name} ?checked=${schema.default === true} /><span dir="auto">${label}</span>${hint}</label>`;
    }
    if (schema.enum) {
      return html`<label><span dir="auto">${label}</span>${hint}
        <select name=${name} ?required=${isRequired}>
          ${isRequired ? nothing : html`<option value=""></option>`}
          ${schema.enum.map((value, index) => html`<option value=${index} ?selected=${value === schema.default}>${String(value)}</option>`)}
        </select></label>`;
    }
    const isNumber = type === "number" || type === "integer";
    const kinds: Record<string, string> = { date: "date", email: "email", uri: "url", "date-time": "datetime-local" };
    const kind = isNumber ? "number" : (kinds[schema.format ?? ""] ?? "text");
    return html`<label><span dir="auto">${label}</span>${hint}
      <input type=${kind} name=${name} ?required=${isRequired} .value=${schema.default === undefined ? "" : String(schema.default)}
        step=${type === "integer" ? "1" : "any"} min=${schema.minimum ?? nothing} max=${schema.maximum ?? nothing}
        minlength=${schema.minLength ?? nothing} maxlength=${schema.maxLength ?? nothing} dir="auto" /></label>`;
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const { interrupt } = this.item;
    const inputs = inputsOf(interrupt.responseSchema);
    const payload = inputs.length ? valuesOf(event.target as HTMLFormElement, inputs) : { approved: true };
    this.ui.chat?.answer(interrupt.id, "resolved", payload);
  }

  #refuse(): void {
    this.ui.chat?.answer(this.item.interrupt.id, "cancelled");
  }
}

/** Whether a field is the heading of one that the question shows. */
function headsAsked(fields: readonly CardField[], at: number): boolean {
  const { text, depth } = fields[at] as CardField;
  if (text) return false;
  const after = fields.slice(at + 1);
  const end = after.findIndex((field) => field.depth <= depth);
  return after.slice(0, end < 0 ? undefined : end).some(({ inText }) => inText);
}

interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** The fields of a form; none where all that is asked is whether it is approved. */
function inputsOf(schema: JsonSchema | undefined): Field[] {
  const { properties = {}, required = [] } = schema ?? {};
  if ("approved" in properties) return [];
  return Object.entries(properties).map(([name, field]) => ({
    name,
    schema: field,
    isRequired: required.includes(name),
  }));
}

const typeOf = ({ type }: JsonSchema): string | undefined =>
  typeof type === "string" ? type : type?.find((each) => each !== "null");

/** What was filled in, in the types that the schema names; what was left empty is left out. */
function valuesOf(form: HTMLFormElement, fields: readonly Field[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const data = new FormData(form);
  for (const { name, schema } of fields) {
    const type = typeOf(schema);
    const given = data.get(name);
    if (type === "boolean") values[name] = given !== null;
    else if (typeof given !== "string" || given === "") continue;
    else if (schema.enum) values[name] = schema.enum[Number(given)];
    else values[name] = type === "number" || type === "integer" ? Number(given) : given;
  }
  return values;
}

define("baton-chat-interrupt", BatonInterrupt);
