import { setTimeout as pause } from "node:timers/promises";
import type { Answer } from "./http.ts";
import type { Person, Tenant, World } from "./world.ts";

export type MemberRole = "owner" | "admin" | "member";

/** A person together with the membership that the test is about. */
export interface Joined extends Person {
  member_id: string;
}

/** Somebody new who is a member of the tenant's organization, and works there. */
export async function addMember(
  world: World,
  { organization_id }: Tenant,
  role: MemberRole,
  flags: { read?: boolean; write?: boolean } = {},
): Promise<Joined> {
  const person = await world.person(`person-${crypto.randomUUID()}`);
  return { ...person, member_id: await world.join(person, organization_id, role, flags) };
}

/** What people ask about the members of the organization that they work in; `prefix` is one of its two addresses. */
export function membersAt(prefix: string, worldOf: () => World) {
  const call = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
    worldOf().call(method, prefix + path, { token: person.token, ...(body === undefined ? {} : { body }) });
  return {
    call,
    get: (person: Person, id: string) => call(person, "GET", `/members/${id}`),
    setRole: (person: Person, id: string, role: unknown) => call(person, "PATCH", `/members/${id}`, { role }),
    setAccess: (person: Person, id: string, body: unknown) => call(person, "PUT", `/members/${id}/access`, body),
    remove: (person: Person, id: string) => call(person, "DELETE", `/members/${id}`),
  };
}

/** Stamps have milliseconds: two changes within one would look the same. */
export const nextStamp = () => pause(2);
