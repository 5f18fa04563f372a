import { SOURCES } from "./source/sources.ts";
import type { board_webhooks } from "../schema/webhook.sql.ts";

type Signing = Pick<typeof board_webhooks.$inferSelect, "source" | "secret_sealed" | "signature_header">;

/** Names of headers that hold credentials of a sender. Agents read what is stored. */
const CREDENTIAL = /key|token|secret|auth|cookie|password/;

/** Content-Type, User-Agent and all X- headers with names in lower case, without signatures and credentials. */
export function storedHeaders(headers: Headers, webhook: Signing): Record<string, string> {
  const dropped = signatureHeaders(webhook);
  const kept: Record<string, string> = {};
  headers.forEach((value, name) => {
    const wanted = name === "content-type" || name === "user-agent" || name.startsWith("x-");
    if (wanted && !CREDENTIAL.test(name) && !dropped.includes(name)) kept[name] = value;
  });
  return kept;
}

/** Stored headers as they are shown: earlier versions stored credentials of unsigned posts. */
export const shownHeaders = (stored: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(stored).filter(([name]) => !CREDENTIAL.test(name)));

/**
 * The headers of signatures and credentials, which are not stored. Some generic senders set several of them; those of an
 * unsigned generic webhook are ordinary headers.
 */
function signatureHeaders({ source, secret_sealed, signature_header }: Signing): (string | undefined)[] {
  if (source === "generic" && secret_sealed === null) return [];
  return [...SOURCES[source].signature_headers, ...SOURCES.generic.signature_headers, signature_header?.toLowerCase()];
}
