// A real OpenID Connect provider for tests: `node issuer.mjs <page>…` prints `issuer <url>` and serves
// until its input ends. Everybody may sign in, with any password, and is of the tenant and has the permissions of their
// name: `acme ada audit:read`.

import { createServer } from "node:http";
import Provider from "oidc-provider";

const pages = process.argv.slice(2);
const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "console",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: pages,
      post_logout_redirect_uris: pages,
    },
  ],
  pkce: { required: () => true },
  clientBasedCORS: () => true,
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  loadExistingGrant: async ({ oidc }) => {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid offline_access");
    await grant.save();
    return grant;
  },
  extraTokenClaims: (_, token) => {
    const [tenant, , ...permissions] = token.accountId.split(" ");
    return { tenant, permissions };
  },
  features: {
    devInteractions: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: "",
        audience: "baton",
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
});
server.on("request", provider.callback());
process.stdin.resume().on("end", () => process.exit());
console.log(`issuer ${issuer}`);
