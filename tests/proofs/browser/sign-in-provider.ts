import { createHash, randomUUID } from "node:crypto";
import { startIdentityProvider } from "../../support/identity-provider.ts";
import { serve } from "../../support/serve.ts";

/** Starts an identity provider with the pages of the authorization code flow. It signs in `subject` without asking. */
export async function startSignInProvider() {
  const keys = await startIdentityProvider();
  const challenges = new Map<string, string>();
  let subject = "ann";
  const open = { "access-control-allow-origin": "*" };
  const site = await serve(async (request) => {
    const url = new URL(request.url);
    const issuer = url.origin;
    if (url.pathname === "/.well-known/openid-configuration")
      return Response.json(
        { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
        { headers: open },
      );
    if (url.pathname === "/keys") return Response.json({ keys: [keys.public_key] });
    if (url.pathname === "/authorize") {
      const asked = url.searchParams;
      const code = randomUUID();
      if (asked.get("code_challenge_method") !== "S256" || asked.get("client_id") !== "console")
        return new Response("no", { status: 400 });
      challenges.set(code, asked.get("code_challenge")!);
      const target = new URL(asked.get("redirect_uri")!);
      target.search = new URLSearchParams({ code, state: asked.get("state")! }).toString();
      return Response.redirect(target, 302);
    }
    const form = new URLSearchParams(await request.text());
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isKnown = challenges.get(form.get("code") ?? "") === challenge;
    if (!isKnown) return Response.json({ error: "invalid_grant" }, { status: 400, headers: open });
    return Response.json({ access_token: await tokenOf(subject), token_type: "Bearer" }, { headers: open });
  });
  const tokenOf = (who: string) => keys.token(who, { iss: site.url });
  return {
    issuer: site.url,
    token: tokenOf,
    signsIn(next: string) {
      subject = next;
    },
    async close() {
      await site.close();
      await keys.close();
    },
  };
}
