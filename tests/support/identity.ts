import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { onLambda } from "./target.ts";

/** An identity provider on loopback: publishes its keys and signs tokens for whoever a test names. */
export interface IdentityProvider {
  issuer: string;
  /** The key it publishes. */
  public_key: JWK;
  /** How often its keys were read. */
  reads: number;
  /** A good token; `claims` override or add, undefined removes. */
  token(subject: string, claims?: Record<string, unknown>): Promise<string>;
  /** From now on it signs with, and publishes, another key of this id. */
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

/** A function's clock is the one that a test moves, for tokens too; here they would go out of date by the machine's. */
const TOKEN_SECONDS = onLambda ? 10 * 365 * 86_400 : 3600;

async function makeKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { privateKey, published: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}
