import { organization_members, users } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import type { Answer } from "../support/http.ts";
import type { Person, Tenant, World } from "../support/world.ts";

/** Returns the email address in a person's token. */
export const emailOf = ({ subject }: Person) => `${subject}@example.com`;

/** Creates a person who has no invite yet. */
export const createGuest = (world: World) => world.person(`guest-${crypto.randomUUID()}`);

/**
 * Returns functions that call the operations of invites as the owner, below `prefix`, one of the two paths. `context` is evaluated
 * at each call.
 */
export function createInviteCalls(prefix: string, context: () => { world: World; home: Tenant }) {
  const call = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
    context().world.call(method, prefix + path, { token: person.token, body });
  const userOf = async ({ subject }: Person) =>
    (await context().world.db.select().from(users).where(eq(users.auth_subject, subject)))[0]!;
  return {
    call,
    invite: (invited_email: unknown, more: object = {}) =>
      call(context().home.owner, "POST", "/me/invites", { invited_email, ...more }),
    accept: (person: Person, token: unknown) => call(person, "POST", "/invites/accept", { token }),
    revoke: (id: string) => call(context().home.owner, "DELETE", `/me/invites/${id}`),
    list: async (query = "") => (await call(context().home.owner, "GET", `/me/invites${query}`)).body,
    userOf,
    /** Reads the person's membership in the organization. */
    membership: async (person: Person) => {
      const { world, home } = context();
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
