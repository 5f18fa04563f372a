import { eq } from "drizzle-orm";
import * as z from "zod";
import type { User as UserActor } from "../context/actor.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import type { Context } from "../context/context.ts";
import { unauthenticated } from "../values/errors.ts";
import { TextOrNull, MAX_NAME, MAX_TEXT, valueError, lazyObject } from "../values/wire.ts";
import { users } from "../schema/organization.sql.ts";
import { toUser, type User } from "./user.ts";

const MAX_PRONOUNS = 100;

/**
 * Returns whether the name is a time zone of the IANA database. Intl also accepts offsets such as `+01:00`, which are not time
 * zones.
 */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const UpdateUser = lazyObject(
  () =>
    z
      .object({
        name: TextOrNull(MAX_NAME).describe("Full name."),
        preferred_name: TextOrNull(MAX_NAME).describe("What the user wants to be called."),
        pronouns: TextOrNull(MAX_PRONOUNS).describe("Pronouns."),
        timezone: TextOrNull(MAX_TEXT)
          .refine((zone) => zone === null || isTimeZone(zone), valueError("timezone must be an IANA time zone"))
          .describe("IANA time zone, such as `Europe/Berlin`."),
        notes: TextOrNull(MAX_TEXT).describe("Notes for agents about the user."),
        context: TextOrNull(MAX_TEXT).describe("Background for agents about the user."),
      })
      .partial().shape,
).meta({ id: "UserUpdate", description: "Blank or null clears a field." });
export type UpdateUser = z.infer<typeof UpdateUser>;

/** Changes the fields of the caller's profile that were sent. */
export async function updateUser(ctx: Context<UserActor>, input: UpdateUser): Promise<User> {
  const isCaller = eq(users.id, ctx.actor.user_id);
  const [stored] = await ctx.db.select().from(users).where(isCaller);
  if (!stored) throw unauthenticated();
  const changes = changedFields(stored, input);
  if (isEmpty(changes)) return toUser(stored);
  const [row] = await ctx.db.update(users).set(changes).where(isCaller).returning();
  if (!row) throw unauthenticated();
  return toUser(row);
}
