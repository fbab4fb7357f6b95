import type { CSSResultGroup } from "lit";
import type { ConsoleApi } from "../api/console-api.ts";
import { PageElement } from "../components/page-element.ts";
import type { Permission } from "../permissions.ts";
import type { Place } from "../routes.ts";
import { type Config, may, type Person } from "../session/session.ts";
import { base } from "../styles/base.ts";

/** Where the traces of turns can be looked at, as `config.json` says. */
export type Traces = Pick<Config, "traceUrl" | "traces">;

/** What every view is given by the shell. */
export interface ViewContext {
  readonly api: ConsoleApi;
  readonly person: Person;
  /** Where traces can be looked at. */
  readonly traces: Traces;
  /** Shows a short message for a moment, and says it to screen readers. */
  readonly notify: (message: string) => void;
}

/** A page of the console. `place` changes while it is shown, when only parameters or later segments of the hash change. */
export abstract class View extends PageElement {
  static override properties: Record<string, object> = {
    context: { attribute: false },
    place: { attribute: false },
  };
  static override styles: CSSResultGroup = base;
  declare context: ViewContext;
  declare place: Place;

  get api(): ConsoleApi {
    return this.context.api;
  }

  may(permission: Permission): boolean {
    return may(this.context.person, permission);
  }

  /** Puts parameters of this view into the address, without a new entry in the browser's history. */
  remember(parameters: Readonly<Record<string, string | null>>): void {
    this.dispatchEvent(new CustomEvent("remember", { detail: parameters, bubbles: true, composed: true }));
  }
}
