import * as oauth from "oauth4webapi";
import { texts } from "../texts.ts";
import { type Browser, isLoopback, type OidcConfig } from "./issuer.ts";
import type { Session } from "./session.ts";

/** What the page must know again when the issuer has sent the person back. */
interface Pending {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly hash: string;
  readonly isSilent: boolean;
}

interface Tokens {
  readonly access: string;
  readonly refresh: string | null;
  readonly id: string | null;
  /** Milliseconds of the epoch; infinite where the issuer does not say. */
  readonly expiresAt: number;
}

const PENDING = "baton-console:oidc";
/** Set while somebody is signed in, so that a page that is loaded again goes to the issuer at once. */
const RETURNS = "baton-console:returns";
/** A token that ends so soon is renewed before it is sent. */
const EARLY_MS = 30_000;
/** What an issuer answers to `prompt=none` when it has to ask the person something. */
const ASKS = new Set(["login_required", "interaction_required", "consent_required", "account_selection_required"]);

/**
 * Signs people in with an OpenID Connect issuer: the code flow with PKCE (RFC 7636), state and nonce, as a public client.
 *
 * Tokens are in the memory of the page only. A page that is loaded again goes to the issuer and comes back without a
 * question, as long as the issuer remembers the person.
 */
export class OidcSession implements Session {
  readonly kind = "oidc";
  readonly #config: OidcConfig;
  readonly #browser: Browser;
  readonly #client: oauth.Client;
  readonly #options: { [oauth.allowInsecureRequests]: boolean };
  #server: Promise<oauth.AuthorizationServer> | null = null;
  #tokens: Tokens | null = null;
  #renewing: Promise<boolean> | null = null;
  #isLeaving = false;

  constructor(config: OidcConfig, browser: Browser) {
    this.#config = config;
    this.#browser = browser;
    this.#client = { client_id: config.clientId };
    this.#options = { [oauth.allowInsecureRequests]: isLoopback(config.issuer) };
  }

  get isSignedIn(): boolean {
    return this.#tokens !== null;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  async begin(): Promise<void> {
    const { storage } = this.#browser;
    const here = new URL(this.#browser.href);
    const pending = pendingOf(storage.getItem(PENDING));
    storage.removeItem(PENDING);
    const isAnswer =
      here.searchParams.has("state") && (here.searchParams.has("code") || here.searchParams.has("error"));
    if (isAnswer) {
      // The code leaves the address before anything can fail, so that neither the history nor a link has it.
      this.#browser.rewrite(this.#page + (pending?.hash ?? ""));
      if (pending) await this.#complete(here, pending);
    } else if (storage.getItem(RETURNS)) {
      storage.removeItem(RETURNS); // once: an issuer that sends back to a page that fails must not do so for ever
      await this.#leaveForIssuer(true);
    }
  }

  /** Leaves the page for the issuer, who sends the person back to the same place. Rejects when it cannot be reached. */
  async signIn(): Promise<void> {
    await this.#leaveForIssuer(false);
  }

  async token(): Promise<string> {
    const tokens = this.#tokens;
    if (!tokens) throw new Error(texts.nobody);
    if (Date.now() > tokens.expiresAt - EARLY_MS && tokens.refresh) await this.renew();
    if (!this.#tokens) throw new Error(texts.nobody);
    return this.#tokens.access;
  }

  renew(): Promise<boolean> {
    // One at a time: an issuer takes a rotated refresh token that comes twice for stolen.
    this.#renewing ??= this.#refresh().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async signOut(): Promise<void> {
    const tokens = this.#tokens;
    this.#forget();
    if (!tokens) return;
    const server = await this.#discover().catch(() => null);
    if (!server) return;
    if (tokens.refresh && server.revocation_endpoint) {
      await oauth
        .revocationRequest(server, this.#client, oauth.None(), tokens.refresh, this.#options)
        .then(oauth.processRevocationResponse)
        .catch(() => undefined); // the session at the issuer ends all the same
    }
    if (!server.end_session_endpoint) return;
    const address = new URL(server.end_session_endpoint);
    address.searchParams.set("client_id", this.#config.clientId);
    address.searchParams.set("post_logout_redirect_uri", this.#page);
    if (tokens.id) address.searchParams.set("id_token_hint", tokens.id);
    this.#leave(address);
  }

  expire(): void {
    this.#forget();
  }

  async #leaveForIssuer(isSilent: boolean): Promise<void> {
    const server = await this.#discover();
    if (!server.authorization_endpoint)
      throw new Error(texts.issuerUnreachable(server.issuer, "authorization_endpoint"));
    const pending: Pending = {
      verifier: oauth.generateRandomCodeVerifier(),
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      hash: new URL(this.#browser.href).hash,
      isSilent,
    };
    const { scope = "openid", resource, audience, clientId } = this.#config;
    const parameters: Record<string, string | undefined> = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: this.#page,
      scope: scope.trim().replace(/\s+/g, " "),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: "S256",
      prompt: isSilent ? "none" : undefined,
      resource,
      audience,
    };
    const address = new URL(server.authorization_endpoint);
    for (const [name, value] of Object.entries(parameters)) if (value) address.searchParams.set(name, value);
    this.#browser.storage.setItem(PENDING, JSON.stringify(pending));
    this.#leave(address);
  }

  async #complete(answer: URL, pending: Pending): Promise<void> {
    const server = await this.#discover();
    try {
      const code = oauth.validateAuthResponse(server, this.#client, answer.searchParams, pending.state);
      const { resource } = this.#config;
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        this.#client,
        oauth.None(),
        code,
        this.#page,
        pending.verifier,
        { ...this.#options, ...(resource && { additionalParameters: { resource } }) },
      );
      const result = await oauth.processAuthorizationCodeResponse(server, this.#client, response, {
        expectedNonce: pending.nonce,
        requireIdToken: true,
      });
      this.#keep(result, null);
    } catch (error) {
      if (pending.isSilent && error instanceof oauth.AuthorizationResponseError && ASKS.has(error.error)) return;
      throw new Error(texts.signInFailed(reasonOf(error)));
    }
  }

  async #refresh(): Promise<boolean> {
    const tokens = this.#tokens;
    if (!tokens?.refresh) return false;
    try {
      const server = await this.#discover();
      const response = await oauth.refreshTokenGrantRequest(
        server,
        this.#client,
        oauth.None(),
        tokens.refresh,
        this.#options,
      );
      const result = await oauth.processRefreshTokenResponse(server, this.#client, response);
      if (this.#tokens !== tokens) return this.isSignedIn; // signed out meanwhile
      this.#keep(result, tokens);
      return true;
    } catch (error) {
      if (error instanceof oauth.ResponseBodyError && error.status < 500) return false;
      throw new Error(texts.renewalFailed(reasonOf(error)));
    }
  }

  #keep(result: oauth.TokenEndpointResponse, before: Tokens | null): void {
    this.#tokens = {
      access: result.access_token,
      refresh: result.refresh_token ?? before?.refresh ?? null,
      id: result.id_token ?? before?.id ?? null,
      expiresAt:
        result.expires_in === undefined ? Number.POSITIVE_INFINITY : Date.now() + Number(result.expires_in) * 1_000,
    };
    this.#browser.storage.setItem(RETURNS, "1");
  }

  #forget(): void {
    this.#tokens = null;
    this.#browser.storage.removeItem(RETURNS);
    this.#browser.storage.removeItem(PENDING);
  }

  #leave(address: URL): void {
    this.#isLeaving = true;
    this.#browser.leave(address.href);
  }

  /** Where the issuer sends people back to: the page without parameters. */
  get #page(): string {
    const { origin, pathname } = new URL(this.#browser.href);
    return origin + pathname;
  }

  #discover(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(this.#config.issuer);
    this.#server ??= oauth
      .discoveryRequest(issuer, this.#options)
      .then((response) => oauth.processDiscoveryResponse(issuer, response))
      .catch((error: unknown) => {
        this.#server = null; // asked again by the next attempt
        throw new Error(texts.issuerUnreachable(this.#config.issuer, reasonOf(error)));
      });
    return this.#server;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return error.error_description ? `${error.error}: ${error.error_description}` : error.error;
  return error instanceof Error ? error.message : String(error);
}

function pendingOf(kept: string | null): Pending | null {
  return kept === null ? null : (JSON.parse(kept) as Pending);
}
