import { setTimeout as pause } from "node:timers/promises";
import type { Answer } from "../support/http.ts";
import type { Person, Tenant, World } from "../support/world.ts";

export type MemberRole = "owner" | "admin" | "member";

/** A person with the id of their membership. */
export interface MemberPerson extends Person {
  member_id: string;
}

/** Creates a person who is a member of the tenant's organization, which becomes the person's active organization. */
export async function addMember(
  world: World,
  { organization_id }: Tenant,
  role: MemberRole,
  flags: { read?: boolean; write?: boolean } = {},
): Promise<MemberPerson> {
  const person = await world.person(`person-${crypto.randomUUID()}`);
  return { ...person, member_id: await world.join(person, organization_id, role, flags) };
}

/** Returns functions that call the operations of members in the person's active organization, below one of the two paths. */
export function createMemberCalls(prefix: string, worldOf: () => World) {
  const call = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
    worldOf().call(method, prefix + path, { token: person.token, body });
  return {
    call,
    get: (person: Person, id: string) => call(person, "GET", `/members/${id}`),
    setRole: (person: Person, id: string, role: unknown) => call(person, "PATCH", `/members/${id}`, { role }),
    setAccess: (person: Person, id: string, body: unknown) => call(person, "PUT", `/members/${id}/access`, body),
    remove: (person: Person, id: string) => call(person, "DELETE", `/members/${id}`),
  };
}

/** Timestamps have milliseconds: two changes in the same millisecond would have the same time. */
export const waitForNextTimestamp = () => pause(2);
