// A provider of OpenID Connect to the letter: npm's `oidc-provider`, as it comes, on loopback.
//
//   node tests/oidc_provider.mjs FOLDER_OF_NODE_MODULES PORT REDIRECT_URI
//
// PKCE is demanded, and who somebody is stands in the answer of its userinfo endpoint: an ID token
// that comes with an access token says `sub` alone (OpenID Connect Core 1.0, 5.4).
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, port, redirect] = process.argv.slice(2);
const found = createRequire(`${folder}/`).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(found).href);
const address = `http://127.0.0.1:${port}`;
const provider = new Provider(address, {
  clients: [
    {
      client_id: "rag-app",
      client_secret: "the secret of the app",
      redirect_uris: [redirect],
      post_logout_redirect_uris: [redirect],
    },
  ],
  claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"], groups: ["groups"] },
  scopes: ["openid", "profile", "email", "groups"],
  pkce: { required: () => true },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({
      sub,
      name: `${sub} of the engines`,
      email: `${sub}@example.org`,
      email_verified: true,
      groups: ["engines", "letters"],
    }),
  }),
  cookies: { keys: ["of this test only"] },
});
provider.listen(Number(port), "127.0.0.1");
