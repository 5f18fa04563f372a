import * as z from "zod";
import { AUTH_PATH } from "./auth-path.ts";

export const MAIL_LINK_PATH = `${AUTH_PATH}/magic-link/verify`;
const MAX_TOKEN = 200;
const Body = z.object({ token: z.string().max(MAX_TOKEN) });

/** Returns the link for a mail. Browsers do not send the part behind the #, so only the page sees the token. */
export const toMailLink = (origin: string, token: string): string => `${origin}/#mail=${token}`;

/**
 * Signs in by the link of a mail. The library accepts the link by GET, but mail scanners follow links too, and would use it up.
 * So the service accepts the link only by POST, from a page with a button.
 */
export async function answerMailLink(request: Request, send: (request: Request) => Promise<Response>): Promise<Response> {
  const body = request.method === "POST" ? Body.safeParse(await request.json().catch(() => null)).data : undefined;
  if (!body) return refuse(request.method === "POST" ? 400 : 404);
  const url = new URL(request.url);
  url.search = String(new URLSearchParams(body));
  const headers = new Headers(request.headers);
  for (const name of ["content-type", "content-length"]) headers.delete(name);
  const answer = await send(new Request(url, { headers }));
  if (answer.status === 429) return answer;
  // On failure, the library redirects to an error page. The service answers with a refusal instead.
  if (!answer.ok) return refuse(401);
  const signedIn = Response.json({ status: true });
  for (const cookie of answer.headers.getSetCookie()) signedIn.headers.append("set-cookie", cookie);
  return signedIn;
}

const MESSAGES = {
  400: "Send the token of the link.",
  401: "The link was used or is too old. Ask for a new one.",
  404: "Not Found",
} as const;

const refuse = (status: keyof typeof MESSAGES) => Response.json({ message: MESSAGES[status] }, { status });
