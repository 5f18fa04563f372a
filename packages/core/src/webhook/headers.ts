import { SOURCES } from "./source/sources.ts";
import type { board_webhooks } from "../schema/webhook.sql.ts";

type Signing = Pick<typeof board_webhooks.$inferSelect, "source" | "secret_sealed" | "signature_header">;

/** Matches headers that contain a sender's credentials. They are not stored, because agents can read stored headers. */
const CREDENTIAL = /key|token|secret|auth|cookie|password/;

/**
 * Returns the headers to store: Content-Type, User-Agent and X- headers, without signatures and credentials. Names are in lower
 * case.
 */
export function storedHeaders(headers: Headers, webhook: Signing): Record<string, string> {
  const dropped = signatureHeaders(webhook);
  const kept: Record<string, string> = {};
  headers.forEach((value, name) => {
    const wanted = name === "content-type" || name === "user-agent" || name.startsWith("x-");
    if (wanted && !CREDENTIAL.test(name) && !dropped.includes(name)) kept[name] = value;
  });
  return kept;
}

/** Returns the stored headers without credentials, because earlier versions stored the credentials of unsigned posts. */
export const shownHeaders = (stored: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(stored).filter(([name]) => !CREDENTIAL.test(name)));

/**
 * Returns the headers with signatures, which are not stored: the headers of the source and the headers that generic senders use.
 * For a generic webhook without a secret, these are treated as ordinary headers.
 */
function signatureHeaders({ source, secret_sealed, signature_header }: Signing): (string | undefined)[] {
  if (source === "generic" && secret_sealed === null) return [];
  return [...SOURCES[source].signature_headers, ...SOURCES.generic.signature_headers, signature_header?.toLowerCase()];
}
