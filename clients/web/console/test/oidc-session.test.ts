import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser } from "../src/session/issuer.ts";
import { OidcSession } from "../src/session/oidc-session.ts";

const PAGE = "http://localhost:8080/monitor/";
const HERE = `${PAGE}#/threads/t-1?at=call%3A1`;
const RESOURCE = "https://baton.example/v1";

let provider: ChildProcess;
let issuer = "";

before(async () => {
  const script = fileURLToPath(new URL("issuer.mjs", import.meta.url));
  provider = spawn(process.execPath, [script, PAGE], { stdio: ["pipe", "pipe", "ignore"] });
  issuer = await new Promise((resolve) => {
    let told = "";
    provider.stdout?.on("data", (piece) => {
      told += piece;
      const found = /^issuer (\S+)$/m.exec(told)?.[1];
      if (found) resolve(found);
    });
  });
});

after(() => provider.stdin?.end());

/** A tab whose person signs in wherever they are asked to, under the name `who`. */
class Tab implements Browser {
  href = HERE;
  left: string | null = null;
  readonly #kept = new Map<string, string>();
  readonly #cookies: Map<string, string>;
  readonly storage = {
    getItem: (key: string) => this.#kept.get(key) ?? null,
    setItem: (key: string, value: string) => void this.#kept.set(key, value),
    removeItem: (key: string) => void this.#kept.delete(key),
  };

  constructor(cookies = new Map<string, string>()) {
    this.#cookies = cookies;
  }

  leave(address: string): void {
    this.left = address;
  }

  rewrite(address: string): void {
    this.href = address;
  }

  session(config: Readonly<Record<string, string>> = {}): OidcSession {
    return new OidcSession({ issuer, clientId: "console", resource: RESOURCE, ...config }, this);
  }

  /** Follows the address that the page was left for, until it leads back to the page. */
  async follow(who = "acme ada audit:read"): Promise<void> {
    let address = this.left ?? assert.fail("The page was not left.");
    let body: URLSearchParams | null = null;
    this.left = null;
    for (let steps = 0; steps < 20; steps++) {
      if (address.startsWith(PAGE)) {
        this.href = address;
        return;
      }
      const answer: Response = await fetch(address, {
        redirect: "manual",
        headers: { Cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
        ...(body && { method: "POST", body }),
      });
      for (const each of answer.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
        if (value) this.#cookies.set(name, value);
        else this.#cookies.delete(name);
      }
      const next = answer.headers.get("Location");
      if (next) {
        address = new URL(next, address).href;
        body = null;
        continue;
      }
      const page = await answer.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1] ?? assert.fail(`No form at ${address}: ${page}`);
      const hidden = [...page.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [
        name,
        value,
      ]);
      body = new URLSearchParams([...hidden, ["login", who], ["password", "any"], ["logout", "yes"]]);
      address = new URL(action, address).href;
    }
    assert.fail("The issuer never led back.");
  }

  /** Signs in, as the shell does. */
  async signedIn(who?: string): Promise<OidcSession> {
    await this.session().signIn();
    await this.follow(who);
    const session = this.session();
    await session.begin();
    return session;
  }
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

test("a person who signs in comes back to the place that the link named, with a token for the API", async () => {
  const tab = new Tab();
  const session = await tab.signedIn("acme ada audit:read thread:read_all");
  assert.equal(tab.href, HERE);
  const claims = claimsOf(await session.token());
  assert.equal(claims.iss, issuer);
  assert.equal(claims.aud, "baton");
  assert.equal(claims.tenant, "acme");
  assert.deepEqual(claims.permissions, ["audit:read", "thread:read_all"]);
});

test("the request carries PKCE, state and nonce, and asks for the configured scope", async () => {
  const tab = new Tab();
  await tab.session({ scope: "openid offline_access", audience: "x" }).signIn();
  const asked = new URL(tab.left ?? "").searchParams;
  assert.equal(asked.get("code_challenge_method"), "S256");
  for (const name of ["code_challenge", "state", "nonce"]) assert.match(asked.get(name) ?? "", /^[\w-]{43}$/);
  assert.equal(asked.get("scope"), "openid offline_access");
  assert.equal(asked.get("audience"), "x");
  assert.equal(asked.get("redirect_uri"), PAGE);
});

test("a page that is loaded again signs in without a question, and no token was stored", async () => {
  const tab = new Tab();
  const token = await (await tab.signedIn()).token();
  assert.ok(
    !JSON.stringify([tab.storage.getItem("baton-console:oidc"), tab.storage.getItem("baton-console:returns")]).includes(
      token,
    ),
  );
  const again = tab.session();
  await again.begin();
  assert.ok(again.isLeaving);
  assert.equal(new URL(tab.left ?? "").searchParams.get("prompt"), "none");
  await tab.follow();
  const back = tab.session();
  await back.begin();
  assert.ok(back.isSignedIn);
  assert.equal(tab.href, HERE);
});

test("a page that is loaded again after the issuer has forgotten the person asks them to sign in", async () => {
  const cookies = new Map<string, string>();
  const tab = new Tab(cookies);
  await tab.signedIn();
  cookies.clear();
  await tab.session().begin();
  await tab.follow();
  const back = tab.session();
  await back.begin();
  assert.ok(!back.isSignedIn && !back.isLeaving);
  const later = tab.session();
  await later.begin();
  assert.ok(!later.isLeaving, "It must not go to and fro.");
});

test("an answer with a foreign state, an unknown code or another nonce signs nobody in", async () => {
  const foreign = new Tab();
  await foreign.session().signIn();
  await foreign.follow();
  foreign.href = foreign.href.replace(/state=[^&]+/, "state=foreign");
  await assert.rejects(foreign.session().begin(), /Signing in has failed/);

  const unknown = new Tab();
  await unknown.session().signIn();
  await unknown.follow();
  unknown.href = unknown.href.replace(/code=[^&]+/, "code=unknown");
  await assert.rejects(unknown.session().begin(), /invalid_grant/);
  assert.equal(unknown.href, HERE, "The code has left the address.");

  const replayed = new Tab();
  await replayed.session().signIn();
  const kept = JSON.parse(replayed.storage.getItem("baton-console:oidc") ?? "{}") as object;
  replayed.storage.setItem("baton-console:oidc", JSON.stringify({ ...kept, nonce: "another" }));
  await replayed.follow();
  const session = replayed.session();
  await assert.rejects(session.begin(), /nonce/);
  assert.ok(!session.isSignedIn);
});

test("an answer that this tab has not asked for is ignored", async () => {
  const tab = new Tab();
  tab.href = `${PAGE}?code=stolen&state=stolen#/threads`;
  const session = tab.session();
  await session.begin();
  assert.ok(!session.isSignedIn);
  assert.equal(tab.href, PAGE);
});

test("what the issuer says against a sign-in is told", async () => {
  const tab = new Tab();
  await tab.session({ scope: "openid unknown_scope", resource: "no-address" }).signIn();
  await tab.follow();
  await assert.rejects(tab.session().begin(), /invalid_target/);
});

test("a token is renewed once for all who ask at the same time", async () => {
  const session = await new Tab().signedIn();
  const first = await session.token();
  assert.deepEqual(await Promise.all([session.renew(), session.renew()]), [true, true]);
  assert.notEqual(await session.token(), first);
  assert.equal(await session.renew(), true, "The rotated refresh token was kept.");
});

test("signing out ends the session at the issuer, and the tokens there", async () => {
  const tab = new Tab();
  const session = await tab.signedIn();
  await session.signOut();
  await assert.rejects(session.token(), /Nobody is signed in/);
  assert.equal(await session.renew(), false);
  await tab.follow();
  assert.ok(tab.href.startsWith(PAGE));
  const back = tab.session();
  await back.begin();
  assert.ok(!back.isSignedIn && !back.isLeaving);
  await back.signIn();
  await assert.rejects(
    async () => {
      const silent = new URL(tab.left ?? "");
      silent.searchParams.set("prompt", "none");
      tab.left = silent.href;
      await tab.follow();
      await tab.session().begin();
    },
    /login_required/,
    "The issuer has forgotten the person.",
  );
});

test("a session that was ended at the issuer cannot be renewed", async () => {
  const session = await new Tab().signedIn();
  // A refresh token that is used twice is taken for stolen, and everything that was made with it is revoked.
  const asked: RequestInit[] = [];
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    if (String(input).endsWith("/token")) asked.push({ ...init, body: String(init?.body) });
    return real(input, init);
  };
  try {
    await session.renew();
    await real(`${issuer}/token`, asked[0]);
    assert.equal(await session.renew(), false);
  } finally {
    globalThis.fetch = real;
  }
});

test("an issuer that cannot be reached is named, and asked again at the next attempt", async () => {
  const tab = new Tab();
  const session = tab.session({ issuer: "http://127.0.0.1:9" });
  await assert.rejects(session.signIn(), /127\.0\.0\.1:9/);
  await assert.rejects(session.signIn(), /127\.0\.0\.1:9/);
  assert.equal(tab.left, null);
  await assert.rejects(tab.session({ issuer: "http://example.com" }).signIn(), /example\.com/);
});
