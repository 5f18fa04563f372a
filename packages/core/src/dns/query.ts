import { Resolver } from "node:dns/promises";
import type { Address } from "./address.ts";

/** Time limit of a look-up. An answer that comes later is not lost: the name server caches it, and a later attempt finds it. */
export const LOOKUP_TIMEOUT_MS = 3_000;
/** Time after which an unanswered query is sent again, because UDP may lose it. */
const RESEND_MS = 1_000;
const TRIES = 3;
/** How long to wait for the addresses of one family once the addresses of the other family are known. */
const OTHER_FAMILY_MS = 250;
/**
 * The maximum number of addresses of a name to use. A name may have thousands of addresses, and a client tries them one after the
 * other.
 */
const MAX_ADDRESSES = 16;

export type Answer =
  | { kind: "found"; addresses: Address[] }
  /** ENOTFOUND means that the name servers know none of the names. EAI_AGAIN means that they failed. */
  | { kind: "unknown"; code: "ENOTFOUND" | "EAI_AGAIN" }
  | { kind: "silent" };

/**
 * Asks name servers for the addresses of the first name that has any. Unlike `dns.lookup`, this blocks no thread. Each call has
 * its own socket, so that cancelling one call does not affect the others.
 */
export async function queryNameServers(names: readonly string[], servers?: readonly string[]): Promise<Answer> {
  const resolver = new Resolver({ timeout: RESEND_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const deadline = performance.now() + LOOKUP_TIMEOUT_MS;
  const timer = setTimeout(() => resolver.cancel(), LOOKUP_TIMEOUT_MS);
  let code: "ENOTFOUND" | "EAI_AGAIN" = "ENOTFOUND";
  try {
    for (const name of names) {
      const answer = performance.now() < deadline ? await queryName(resolver, name) : ({ kind: "silent" } as const);
      if (answer.kind !== "unknown") return answer;
      if (answer.code === "EAI_AGAIN") code = answer.code;
    }
    return { kind: "unknown", code };
  } finally {
    clearTimeout(timer);
  }
}

async function queryName(resolver: Resolver, name: string): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const query = async (family: 4 | 6): Promise<Address[]> => {
    const found = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name));
    timer ??= setTimeout(() => resolver.cancel(), OTHER_FAMILY_MS);
    return found.map((address) => ({ address, family }));
  };
  const answers = await Promise.allSettled([query(4), query(6)]);
  clearTimeout(timer);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return { kind: "found", addresses: addresses.slice(0, MAX_ADDRESSES) };
  const codes = answers.map((answer) =>
    answer.status === "rejected" ? (answer.reason as NodeJS.ErrnoException).code : undefined,
  );
  if (codes.some((code) => code === "ETIMEOUT" || code === "ECANCELLED")) return { kind: "silent" };
  const isMissing = codes.every((code) => code === "ENOTFOUND" || code === "ENODATA" || code === "EBADNAME");
  return { kind: "unknown", code: isMissing ? "ENOTFOUND" : "EAI_AGAIN" };
}
