import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { onLambda } from "./target.ts";

/** How the provider fails: it is not running, never answers, or answers with something that is not its keys. */
export type ProviderFault =
  | "stopped"
  | "hanging"
  | "not JSON"
  | "status 500"
  | "a redirect"
  | "endless"
  | "no keys"
  | "no key set";

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
  /** Publishes this key instead of the signing one. */
  publish(key: JWK): void;
  /** Fails in this way until `recover` is called. */
  fail(fault: ProviderFault): Promise<void>;
  recover(): Promise<void>;
  close(): Promise<void>;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let signing = await makeKey("test");
  let fault: ProviderFault | null = null;
  const server = createServer((_request, response) => {
    provider.reads += 1;
    const answer = () => response.end(JSON.stringify({ keys: [provider.public_key] }));
    response.setHeader("content-type", "application/json");
    if (fault === null) answer();
    else FAULTS[fault](response, issuer);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}/`;
  const provider: IdentityProvider = {
    issuer,
    public_key: signing.published,
    reads: 0,
    token(subject, claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = {
        iss: issuer,
        aud: "board",
        sub: subject,
        email: `${subject}@example.com`,
        email_verified: true,
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
    publish(key) {
      provider.public_key = key;
    },
    async fail(next) {
      fault = next;
      if (fault === "stopped") await stop();
    },
    async recover() {
      if (fault === "stopped") await listen(port);
      fault = null;
      // Closed explicitly, because clients would otherwise wait for their answers even after the fault has ended.
      server.closeAllConnections();
    },
    async close() {
      if (server.listening) await stop();
    },
  };
  return provider;
}

const CHUNK = "x".repeat(65_536);
const FAULTS: Record<ProviderFault, (response: ServerResponse, issuer: string) => unknown> = {
  stopped: (response) => response.destroy(),
  hanging: () => {},
  "not JSON": (response) => response.end("<html>Sign in</html>"),
  "status 500": (response) => response.writeHead(500).end('{"keys":[]}'),
  "a redirect": (response, issuer) => response.writeHead(302, { location: `${issuer}elsewhere` }).end(),
  endless(response) {
    const send = () => {
      while (!response.destroyed && response.write(CHUNK));
    };
    response.on("drain", send);
    send();
  },
  "no keys": (response) => response.end('{"keys":[]}'),
  "no key set": (response) => response.end('{"keys":"none"}'),
};

/**
 * Functions compare a token's expiry with the clock of the test, which may be far ahead. Their tokens are therefore valid for ten
 * years by the machine's clock.
 */
const TOKEN_SECONDS = onLambda ? 10 * 365 * 86_400 : 3600;

async function makeKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { privateKey, published: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}
