import { exportJWK, generateKeyPair, SignJWT } from "jose";

export interface OtherAccount {
  id: string;
  email: string;
  verified: boolean;
}

const json = (body: unknown) => Response.json(body);

/** Simulates GitHub and Google. An authorization code contains the account of the person who agreed. */
export async function openOtherServices() {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "google", alg: "RS256", use: "sig" }] };
  const exchanges: URLSearchParams[] = [];
  const accountOf = (text: string | null): OtherAccount => JSON.parse(Buffer.from(text ?? "", "base64url").toString());
  const idToken = ({ id, email, verified }: OtherAccount) =>
    new SignJWT({ email, email_verified: verified, name: `Google ${id}` })
      .setProtectedHeader({ alg: "RS256", kid: "google" })
      .setIssuer("https://accounts.google.com")
      .setAudience("google-client")
      .setSubject(id)
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);

  async function answer(url: URL, request: Request): Promise<Response> {
    if (request.method === "POST") {
      const form = new URLSearchParams(await request.text());
      exchanges.push(form);
      const code = form.get("code");
      if (url.hostname === "github.com") return json({ access_token: code, token_type: "bearer", scope: "read:user,user:email" });
      return json({ access_token: code, token_type: "Bearer", expires_in: 300, id_token: await idToken(accountOf(code)) });
    }
    if (url.hostname === "www.googleapis.com") return json(keys);
    const { id, email, verified } = accountOf(request.headers.get("authorization")?.slice("Bearer ".length) ?? null);
    if (url.pathname === "/user/emails") return json([{ email, primary: true, verified }]);
    return json({ id: Number(id), login: `github-${id}`, name: `GitHub ${id}`, email: null });
  }
  const HOSTS = new Set(["github.com", "api.github.com", "oauth2.googleapis.com", "www.googleapis.com"]);
  const real = globalThis.fetch;
  return {
    exchanges,
    codeOf: (account: OtherAccount): string => Buffer.from(JSON.stringify(account)).toString("base64url"),
    idToken,
    /** Replaces the global `fetch`. Requests to other hosts go to the network. */
    fetch: (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init);
      const url = new URL(request.url);
      return HOSTS.has(url.hostname) ? answer(url, request) : real(input, init);
    },
  };
}
