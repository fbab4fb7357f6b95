/** The issuer that signs people in, of `config.json`. */
export interface OidcConfig {
  /** Exactly as in its discovery document. */
  readonly issuer: string;
  /** A public client, allowed to redirect to the console's address. */
  readonly clientId: string;
  /** `openid` and what else the issuer wants for permissions or, as `offline_access`, for renewal. */
  readonly scope?: string;
  /** The API that tokens are for, where the issuer follows RFC 8707. */
  readonly resource?: string;
  /** The same for issuers that have a parameter `audience` of their own. */
  readonly audience?: string;
}

/** What signing in needs of a browser. */
export interface Browser {
  readonly href: string;
  readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  leave(address: string): void;
  /** Puts an address of the same page into the address bar. */
  rewrite(address: string): void;
}

/** The browser that shows this page. */
export const thisBrowser: Browser = {
  get href() {
    return location.href;
  },
  get storage() {
    return sessionStorage;
  },
  leave: (address) => location.assign(address),
  rewrite: (address) => history.replaceState(null, "", address),
};

/** Whether an issuer may be asked without TLS: only one on this machine. */
export function isLoopback(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer);
  return protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
