import type { Actor } from "@board/core/context/actor";
import { DomainError } from "@board/core/values/errors";
import type { Endpoint } from "../endpoint.ts";

/** The operations for people that a key may call too. All others change a person's profile, memberships or own keys. */
const OF_A_PERSON: ReadonlySet<string> = new Set([
  "GET /api/v1/users/me",
  "GET /api/v1/auth/bootstrap",
  "POST /api/v1/auth/bootstrap",
]);

const OWN_KEYS = "/api/v1/users/me/keys";

/** Operations that are not GET and still count as reads. The tools behind `/mcp` check the access to the board themselves. */
const READS: ReadonlySet<string> = new Set(["POST /api/v1/auth/bootstrap", "POST /mcp"]);

/** Returns whether only people may call the operation, and no key. */
export const isOnlyForPeople = ({ method, paths, spec }: Endpoint): boolean =>
  (spec.as.name === "USER" || paths[0]!.startsWith(OWN_KEYS)) && !OF_A_PERSON.has(`${method} ${paths[0]}`);

/** Throws `forbidden` if a key calls what only people may call, or if a key with read access changes something. */
export function requireAllowedToKey(endpoint: Endpoint, actor: Actor): void {
  if (actor.type !== "user" || !actor.key) return;
  const { method, paths } = endpoint;
  if (isOnlyForPeople(endpoint)) throw new DomainError("forbidden", "Only people can do this, not keys");
  if (actor.key.access === "read" && method !== "GET" && !READS.has(`${method} ${paths[0]}`))
    throw new DomainError("forbidden", "Only keys with write access can change anything");
}
