import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { Context } from "../context/context.ts";

/** What a link or button of a message may do. The purpose is signed too, so that a link cannot be used for another purpose. */
const Claims = z.discriminatedUnion("for", [
  z.object({
    for: z.literal("decision"),
    id: z.uuid(),
    approval_id: z.uuid(),
    board_id: z.uuid(),
    user_id: z.uuid(),
    expires: z.number(),
  }),
  z.object({ for: z.literal("unsubscribe"), channel_id: z.uuid() }),
  z.object({
    for: z.literal("slack"),
    id: z.uuid(),
    organization_id: z.uuid(),
    user_id: z.uuid(),
    expires: z.number(),
  }),
]);
type Claims = z.infer<typeof Claims>;

type Signing = Pick<Context, "settings">;

const sign = ({ settings }: Signing, body: string) =>
  createHmac("sha256", settings.token_pepper).update(`link:${body}`).digest("base64url");

export function signLink(ctx: Signing, claims: Claims): string {
  const body = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `${body}.${sign(ctx, body)}`;
}

/** Returns the claims of a link that this service signed for the purpose; null for any other text. */
export function parseLink<P extends Claims["for"]>(ctx: Signing, purpose: P, token: string): Extract<Claims, { for: P }> | null {
  const [body = "", given = ""] = token.split(".", 2);
  const expected = Buffer.from(sign(ctx, body));
  const actual = Buffer.from(given);
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return null;
  const claims = Claims.safeParse(JSON.parse(Buffer.from(body, "base64url").toString("utf8"))).data;
  return claims?.for === purpose ? (claims as Extract<Claims, { for: P }>) : null;
}
