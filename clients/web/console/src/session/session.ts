import type { Permission } from "../permissions.ts";
import type { OidcConfig } from "./issuer.ts";

/** Where the console runs: `config.json` beside the page. */
export interface Config {
  /** The origin of the HTTP API; absent: the page's own. */
  readonly apiUrl?: string;
  /** The local cloud gives tokens to anybody. */
  readonly local?: boolean;
  /** Where a trace can be looked at: an address with `{traceId}`. */
  readonly traceUrl?: string;
  /** The path of the local cloud's collector of traces; absent where there is none. */
  readonly traces?: string;
  readonly oidc?: OidcConfig;
}

/** The person who is signed in, as the server reads the token (`GET /v1/users/me`). */
export interface Person {
  readonly tenantId: string;
  readonly userId: string;
  /** The name for people, if the token gives one. */
  readonly name?: string | null;
  readonly permissions: readonly string[];
  readonly expiresAt: string;
}

/** Signs people in, and keeps their token for this tab. */
export interface Session {
  readonly kind: "local" | "oidc";
  readonly isSignedIn: boolean;
  /** Whether the browser is on its way to another page, so that nothing need be shown any more. */
  readonly isLeaving: boolean;
  /** Goes on where an earlier page of this tab was, or completes a sign-in. Rejects when that fails. */
  begin(): Promise<void>;
  /** Returns an access token. Rejects when nobody is signed in. */
  token(): Promise<string>;
  /** Gets a newer token without asking the person; false if that is impossible. Rejects when it failed this time. */
  renew(): Promise<boolean>;
  /** Forgets who was signed in, and stays on the page. */
  expire(): void;
  /** Ends the session, at the issuer too; may leave the page. */
  signOut(): Promise<void>;
}

export function may(person: Person | null, permission: Permission | null): boolean {
  return permission === null || (person?.permissions.includes(permission) ?? false);
}

/** Reads `config.json`. Rejects when it is absent or no JSON. */
export async function readConfig(): Promise<Config> {
  const answer = await fetch("config.json", { cache: "no-store" });
  if (!answer.ok) throw new Error("The console is not configured: config.json is missing.");
  const config = (await answer.json()) as Config;
  if (!config.local && !config.oidc?.issuer)
    throw new Error("The console is not configured: config.json names no issuer.");
  return config;
}
