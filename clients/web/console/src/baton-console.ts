import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { html as staticHtml, unsafeStatic } from "lit/static-html.js";
import { ConsoleApi } from "./api/console-api.ts";
import { problemOf } from "./api/problem.ts";
import { hrefOf, type Place, placeOf } from "./routes.ts";
import { thisBrowser } from "./session/issuer.ts";
import { type LocalIdentity, LocalSession } from "./session/local-session.ts";
import type { OidcSession } from "./session/oidc-session.ts";
import { type Config, may, type Person, readConfig, type Session } from "./session/session.ts";
import { base } from "./styles/base.ts";
import { texts } from "./texts.ts";
import { VIEWS, type ViewKind, viewAt } from "./views/index.ts";
import type { ViewContext } from "./views/view.ts";
import "./components/issuer-sign-in.ts";
import "./components/sign-in.ts";

const TOAST_MS = 5_000;
/** The longest wait of a browser's timers. */
const MAX_WAIT_MS = 2 ** 31 - 1;

/** The console: who is signed in, the navigation that their permissions allow, and the view of the address. */
export class BatonConsole extends LitElement {
  static override properties = {
    place: { state: true },
    person: { state: true },
    problem: { state: true },
    loaded: { state: true },
    toast: { state: true },
    isReady: { state: true },
  };
  static override styles = [
    base,
    css`
      :host { min-block-size: 100vh; background: var(--background); }
      .frame { display: grid; grid-template-columns: 200px minmax(0, 1fr); min-block-size: 100vh; }
      nav { border-inline-end: 1px solid var(--border); padding: 16px 12px; display: flex; flex-direction: column; gap: 2px; background: var(--surface); position: sticky; inset-block-start: 0; block-size: 100vh; overflow: auto; }
      nav strong { padding: 4px 10px 12px; }
      nav a { color: var(--text); text-decoration: none; padding: 6px 10px; border-radius: 8px; }
      nav a:hover { background: var(--raised); }
      nav a[aria-current] { background: var(--accent); color: var(--on-accent); }
      .who { margin-block-start: auto; padding: 10px; display: grid; gap: 6px; overflow-wrap: anywhere; }
      main { padding: 20px 24px 48px; min-inline-size: 0; }
      .skip { position: absolute; inset-inline-start: -9999px; }
      .skip:focus { inset-inline-start: 8px; inset-block-start: 8px; background: var(--raised); padding: 8px; z-index: 2; }
      .toast { position: fixed; inset-block-end: 16px; inset-inline-end: 16px; background: var(--raised); border: 1px solid var(--border); border-radius: var(--radius); padding: 10px 14px; box-shadow: 0 8px 24px rgb(0 0 0 / 0.2); max-inline-size: min(420px, calc(100vw - 32px)); overflow-wrap: anywhere; z-index: 1; pointer-events: none; }
      .toast:empty { opacity: 0; }
      @media (max-width: 760px) {
        .frame { grid-template: max-content minmax(0, 1fr) / minmax(0, 1fr); }
        nav { position: static; block-size: auto; flex-flow: row wrap; align-items: center; border-inline-end: 0; border-block-end: 1px solid var(--border); }
        nav strong { inline-size: 100%; padding-block-end: 4px; }
        .who { margin: 0; padding: 4px 10px; }
        main { padding: 16px; }
      }
      /* What somebody writes stands at the bottom there. */
      @media (max-width: 900px) { .toast { inset: 8px 16px auto; max-inline-size: none; } }
    `,
  ];
  protected declare place: Place;
  protected declare person: Person | null;
  protected declare problem: string;
  /** Elements whose code is there. */
  protected declare loaded: ReadonlySet<string>;
  protected declare toast: string;
  protected declare isReady: boolean;
  #session: Session | null = null;
  #context: ViewContext | null = null;
  #config: Config = {};
  #toastTimer: ReturnType<typeof setTimeout> | undefined;
  #expiryTimer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> | null = null;
  #renewing: Promise<boolean> | null = null;

  constructor() {
    super();
    this.place = placeOf(location.hash);
    this.person = null;
    this.problem = "";
    this.loaded = new Set();
    this.toast = "";
    this.isReady = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("hashchange", this.#moved);
    void this.#begin();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("hashchange", this.#moved);
    clearTimeout(this.#toastTimer);
    clearTimeout(this.#expiryTimer);
  }

  protected override updated(): void {
    const label = this.person ? viewAt(this.place)?.label : undefined;
    document.title = label ? `${texts[label]} · ${texts.console}` : texts.console;
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.isReady) return nothing;
    if (!this.person) return this.#signIn();
    const kind = viewAt(this.place);
    return html`
      <div class="frame">
        <nav aria-label=${texts.views}>
          <button type="button" class="skip" @click=${this.#skip}>${texts.skip}</button>
          <strong>${texts.console}</strong>
          ${VIEWS.filter((each) => each.label && may(this.person, each.permission)).map((each) => this.#link(each, kind))}
          <div class="who">
            <small class="muted">${texts.signedInAs(this.person.name || this.person.userId, this.person.tenantId)}</small>
            <button type="button" @click=${this.#signOut}>${texts.signOut}</button>
          </div>
        </nav>
        <main id="main" tabindex="-1" @remember=${this.#remember}>${this.#view(kind)}</main>
      </div>
      <div class="toast" role="status">${this.toast}</div>
    `;
  }

  #signIn(): TemplateResult {
    const { oidc } = this.#config;
    if (oidc)
      return html`<issuer-sign-in .issuer=${oidc.issuer} .problem=${this.problem} @sign-in=${this.#leaveForIssuer}></issuer-sign-in>`;
    if (!this.#config.local) return html`<p role="alert">${this.problem}</p>`;
    return html`<sign-in .problem=${this.problem} @identity=${this.#chosen}></sign-in>`;
  }

  #link(each: ViewKind, shown: ViewKind | null): TemplateResult {
    const isCurrent = shown?.root === each.root;
    return html`<a href=${hrefOf(each.root ? [each.root] : [])} aria-current=${isCurrent ? "page" : nothing}>${each.label ? texts[each.label] : ""}</a>`;
  }

  #view(kind: ViewKind | null): unknown {
    if (!kind) return html`<p>${texts.nothingHere}</p>`;
    if (!may(this.person, kind.permission)) return html`<p role="alert">${texts.missing(kind.permission ?? "")}</p>`;
    if (!this.loaded.has(kind.element)) {
      void this.#load(kind);
      return html`<p class="muted" role="status">${texts.loading}</p>`;
    }
    const name = unsafeStatic(kind.element); // from the list of views, never from the address
    return staticHtml`<${name} .context=${this.#context} .place=${this.place}></${name}>`;
  }

  async #load(kind: ViewKind): Promise<void> {
    try {
      await kind.load();
      this.loaded = new Set([...this.loaded, kind.element]);
    } catch (error) {
      this.#notify(problemOf(error).message);
    }
  }

  async #begin(): Promise<void> {
    try {
      this.#config = await readConfig();
      this.#session = await this.#sessionOf(this.#config);
      await this.#session.begin();
      this.place = placeOf(location.hash); // a sign-in that was completed has brought it back
      if (this.#session.isLeaving) return;
      if (this.#session.isSignedIn) await this.#enter();
    } catch (error) {
      this.problem = problemOf(error).message;
    }
    this.isReady = true;
  }

  async #sessionOf({ oidc }: Config): Promise<Session> {
    if (!oidc) return new LocalSession();
    const { OidcSession } = await import("./session/oidc-session.ts");
    return new OidcSession(oidc, thisBrowser);
  }

  #chosen = async (event: CustomEvent<LocalIdentity>): Promise<void> => {
    try {
      await (this.#session as LocalSession).signIn(event.detail);
      this.problem = "";
      await this.#enter();
    } catch (error) {
      this.problem = problemOf(error).message;
    }
  };

  #leaveForIssuer = async (): Promise<void> => {
    this.problem = "";
    try {
      await (this.#session as OidcSession).signIn();
    } catch (error) {
      this.problem = problemOf(error).message;
    }
  };

  /** Asks the server who the token names, and shows what that person may see. */
  async #enter(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    const api = new ConsoleApi(this.#apiUrl, {
      token: () => session.token(),
      refused: (token) => this.#refused(session, token),
      ended: () => this.#expire(),
      forbidden: () => void this.#askAgain(api),
    });
    this.#show(api, await api.get<Person>(["users", "me"]));
  }

  get #apiUrl(): string {
    return this.#config.apiUrl ?? location.origin;
  }

  #show(api: ConsoleApi, person: Person): void {
    const { traceUrl, traces } = this.#config;
    const shownAt = { ...(traceUrl && { traceUrl }), ...(traces && { traces }) };
    this.#context = { api, person, traces: shownAt, notify: (message) => this.#notify(message) };
    this.person = person;
    this.#leaveOverview(person);
    clearTimeout(this.#expiryTimer);
    const wait = Math.min(Math.max(0, Date.parse(person.expiresAt) - Date.now()), MAX_WAIT_MS);
    this.#expiryTimer = setTimeout(() => void this.#expired(api), wait);
  }

  /** Goes to the first view that the person may see, if the page was opened without a place and is none of theirs. */
  #leaveOverview(person: Person): void {
    if (this.place.path.length || may(person, viewAt(this.place)?.permission ?? null)) return;
    const first = VIEWS.find((each) => each.label && may(person, each.permission));
    if (first) location.replace(hrefOf([first.root]));
  }

  /** Gets a newer token for one that was refused; without one, nothing of the person stays on the page. */
  async #refused(session: Session, token: string): Promise<boolean> {
    if (session !== this.#session || !session.isSignedIn) return false;
    if (!this.#renewing && (await session.token()) !== token) return true;
    this.#renewing ??= this.#renewed(session).finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** Whether there is a newer token that the server takes: it is asked once, however much was refused. */
  async #renewed(session: Session): Promise<boolean> {
    let isRenewed = await session.renew();
    if (isRenewed) {
      const nothing = () => {};
      const holder = { token: () => session.token(), refused: async () => false, ended: nothing, forbidden: nothing };
      const api = new ConsoleApi(this.#apiUrl, holder);
      isRenewed = await api.get(["users", "me"]).then(
        () => true,
        (error) => problemOf(error).status !== 401,
      );
    }
    if (!isRenewed) this.#expire();
    return isRenewed;
  }

  /** The token has ended while the page was open: the server says whether the session has gone on. */
  async #expired(api: ConsoleApi): Promise<void> {
    try {
      const isRenewed = await this.#session?.renew();
      if (!isRenewed) return this.#expire();
      this.#show(api, await api.get<Person>(["users", "me"]));
    } catch {
      this.#expire();
    }
  }

  /** A permission was missing that the page had counted on: it shows what the token allows now. */
  #askAgain(api: ConsoleApi): Promise<void> {
    this.#asking ??= this.#compare(api).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #compare(api: ConsoleApi): Promise<void> {
    const person = await api.get<Person>(["users", "me"]).catch(() => null);
    if (!person || this.#context?.api !== api) return;
    if (String(person.permissions) === String(this.person?.permissions)) return;
    this.#show(api, person);
    this.#notify(texts.changedPermissions);
  }

  #expire(): void {
    this.problem = texts.signedOut;
    this.#session?.expire();
    this.#clear();
  }

  #signOut = async (): Promise<void> => {
    this.problem = "";
    this.#clear();
    await this.#session?.signOut();
  };

  /** Removes what was shown to the person. */
  #clear(): void {
    clearTimeout(this.#expiryTimer);
    this.person = null;
    this.#context = null;
    this.toast = "";
  }

  #moved = async (): Promise<void> => {
    const before = this.place.path.join("/");
    this.place = placeOf(location.hash);
    if (this.place.path.join("/") === before) return;
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
  };

  #remember = (event: CustomEvent<Record<string, string | null>>): void => {
    const place: Place = this.place;
    const address = hrefOf(place.path, { ...place.parameters, ...event.detail });
    history.replaceState(history.state, "", address);
    this.place = placeOf(address);
  };

  #skip = (): void => {
    this.renderRoot.querySelector<HTMLElement>("main")?.focus();
  };

  #notify(message: string): void {
    this.toast = message;
    clearTimeout(this.#toastTimer);
    this.#toastTimer = setTimeout(() => {
      this.toast = "";
    }, TOAST_MS);
  }
}

customElements.define("baton-console", BatonConsole);
