import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** An identity provider on loopback: publishes its keys and signs tokens for whoever a test names. */
export interface IdentityProvider {
  issuer: string;
  /** A good token; `claims` override or add. */
  token(subject: string, claims?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "test", alg: "ES256", use: "sig" }] };
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(keys));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    issuer,
    token(subject, claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: issuer, sub: subject, email: `${subject}@example.com`, name: subject, iat: now, exp: now + 3600, ...claims };
      return new SignJWT(all).setProtectedHeader({ alg: "ES256", kid: "test" }).sign(privateKey);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
