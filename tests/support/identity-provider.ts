import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { onLambda } from "./target.ts";

/** An identity provider on loopback that publishes its keys and signs tokens for any subject. */
export interface IdentityProvider {
  issuer: string;
  /** The published key. */
  public_key: JWK;
  /** How often the keys were fetched. */
  reads: number;
  /** Signs a valid token. `claims` replace or add claims, and undefined removes one. */
  token(subject: string, claims?: Record<string, unknown>): Promise<string>;
  /** Replaces the published and signing key by a new one with this id. */
  rotate(kid: string): Promise<void>;
  close(): Promise<void>;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let signing = await makeKey("test");
  const server = createServer((_request, response) => {
    provider.reads += 1;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: [signing.published] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const provider: IdentityProvider = {
    issuer,
    public_key: signing.published,
    reads: 0,
    token(subject, claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = {
        iss: issuer,
        sub: subject,
        email: `${subject}@example.com`,
        name: subject,
        iat: now,
        exp: now + TOKEN_SECONDS,
        ...claims,
      };
      return new SignJWT(all).setProtectedHeader({ alg: "ES256", kid: signing.published.kid }).sign(signing.privateKey);
    },
    async rotate(kid) {
      signing = await makeKey(kid);
      provider.public_key = signing.published;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}

/** Functions validate tokens by the clock of the test, so their tokens have no expiry by the machine's clock. */
const TOKEN_SECONDS = onLambda ? 10 * 365 * 86_400 : 3600;

async function makeKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { privateKey, published: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}
