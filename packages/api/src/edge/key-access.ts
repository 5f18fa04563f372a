import type { Actor } from "@board/core/context/actor";
import { requireKeyForAllBoards } from "@board/core/organization/board-rights";
import { DomainError } from "@board/core/values/errors";
import type { Endpoint } from "../endpoint.ts";

/** Tells a program whom its key acts as. */
const WHO_AM_I = "GET /api/v1/users/me";

/**
 * Paths of what belongs to one person: the profile with inbox and keys, the organizations of the person, what the person follows
 * and has reviewed, and the dialogue in which a person describes a board.
 */
const OF_A_PERSON = /^\/api\/v1\/users\/me\b|\/(?:follow|saved-views|reviewed-files|onboarding)\b/;
const ORGANIZATIONS = /^\/(?:api\/v1\/)?organizations\b/;

/**
 * Paths of those operations of admins that check the caller's access to each board themselves. All other operations of admins
 * affect the whole organization.
 */
const CHECKS_BOARDS = /^\/api\/(?:v1\/(?:keys|agents)|souls-directory)\b/;

/** Operations that are not GET and still count as reads. The tools behind `/mcp` check the access to the board themselves. */
const READS: ReadonlySet<string> = new Set(["POST /api/v1/auth/bootstrap", "POST /mcp"]);

/** Returns whether only people may call the operation, and no key. */
export function isOnlyForPeople({ method, paths, spec }: Endpoint): boolean {
  const path = paths[0]!;
  if (`${method} ${path}` === WHO_AM_I) return false;
  return OF_A_PERSON.test(path) || (spec.as.name === "USER" && ORGANIZATIONS.test(path));
}

/** Throws `forbidden` if the caller is a key that may not call the operation at all, whatever its input. */
export function requireAllowedToKey(endpoint: Endpoint, actor: Actor): void {
  if (actor.type !== "user" || !actor.key) return;
  const { method, paths, spec } = endpoint;
  if (isOnlyForPeople(endpoint)) throw new DomainError("forbidden", "Only people can do this, not keys");
  if (actor.key.access === "read" && method !== "GET" && !READS.has(`${method} ${paths[0]}`))
    throw new DomainError("forbidden", "Only keys with write access can change anything");
  if (actor.key.access === "admin" && spec.as.name.startsWith("ADMIN") && !CHECKS_BOARDS.test(paths[0]!))
    requireKeyForAllBoards(actor);
}
