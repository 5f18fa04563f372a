import { organization_members, users } from "@board/core/db/schema";
import { and, eq } from "drizzle-orm";
import type { Answer } from "./http.ts";
import type { Person, Tenant, World } from "./world.ts";

/** The address that a person's token tells. */
export const emailOf = ({ subject }: Person) => `${subject}@example.com`;

/** Somebody whom nobody has invited yet. */
export const addGuest = (world: World) => world.person(`guest-${crypto.randomUUID()}`);

/**
 * What is asked about the invites of an organization, which its owner gives; `prefix` is one of the two addresses. The world
 * and the organization are looked up at each call.
 */
export function invitesAt(prefix: string, now: () => { world: World; home: Tenant }) {
  const call = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
    now().world.call(method, prefix + path, { token: person.token, ...(body === undefined ? {} : { body }) });
  const userOf = async ({ subject }: Person) =>
    (await now().world.db.select().from(users).where(eq(users.auth_subject, subject)))[0]!;
  return {
    call,
    invite: (invited_email: unknown, more: object = {}) =>
      call(now().home.owner, "POST", "/me/invites", { invited_email, ...more }),
    accept: (person: Person, token: unknown) => call(person, "POST", "/invites/accept", { token }),
    revoke: (id: string) => call(now().home.owner, "DELETE", `/me/invites/${id}`),
    list: async (query = "") => (await call(now().home.owner, "GET", `/me/invites${query}`)).body,
    userOf,
    /** What the person is in the organization. */
    membership: async (person: Person) => {
      const { world, home } = now();
      const found = await world.db
        .select()
        .from(organization_members)
        .where(
          and(
            eq(organization_members.organization_id, home.organization_id),
            eq(organization_members.user_id, (await userOf(person)).id),
          ),
        );
      return found[0];
    },
  };
}
