import type { Actor } from "@board/core/context/actor";
import { DomainError } from "@board/core/values/errors";
import type { Endpoint } from "../endpoint.ts";

/** The operations for people that a key may call too. All others change a person's profile, memberships or own keys. */
const OF_A_PERSON: ReadonlySet<string> = new Set([
  "GET /api/v1/users/me",
  "GET /api/v1/auth/bootstrap",
  "POST /api/v1/auth/bootstrap",
]);

/** Operations that are not GET and still count as reads. The tools behind `/mcp` check the access to the board themselves. */
const READS: ReadonlySet<string> = new Set(["POST /api/v1/auth/bootstrap", "POST /mcp"]);

/** Throws `forbidden` if a key calls what only people may call, or if a key with read access changes something. */
export function requireAllowedToKey({ method, paths, spec }: Endpoint, actor: Actor): void {
  if (actor.type !== "user" || !actor.key) return;
  const operation = `${method} ${paths[0]}`;
  const isOfPerson = spec.as.name === "USER" || paths[0]!.startsWith(OWN_KEYS);
  if (isOfPerson && !OF_A_PERSON.has(operation)) throw new DomainError("forbidden", "Only people can do this, not keys");
  if (actor.key.access === "read" && method !== "GET" && !READS.has(operation))
    throw new DomainError("forbidden", "Only keys with write access can change anything");
}

const OWN_KEYS = "/api/v1/users/me/keys";
