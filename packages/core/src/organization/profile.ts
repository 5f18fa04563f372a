import { eq } from "drizzle-orm";
import * as z from "zod";
import type { User as UserActor } from "../actor.ts";
import { changesOf, isEmpty } from "../change.ts";
import type { Context } from "../context.ts";
import { unauthenticated } from "../errors.ts";
import { Blankable, MAX_NAME, MAX_TEXT, rule } from "../wire.ts";
import { users } from "./organization.sql.ts";
import { toUser, type User } from "./user.ts";

const MAX_PRONOUNS = 100;

/** A name of the IANA database. Offsets such as `+01:00`, which Intl takes too, are no zones. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const UpdateUser = z
  .object({
    name: Blankable(MAX_NAME).describe("Full name."),
    preferred_name: Blankable(MAX_NAME).describe("What the user wants to be called."),
    pronouns: Blankable(MAX_PRONOUNS).describe("Pronouns."),
    timezone: Blankable(MAX_TEXT)
      .refine((zone) => zone === null || isTimeZone(zone), rule("timezone must be an IANA time zone"))
      .describe("IANA time zone, such as `Europe/Berlin`."),
    notes: Blankable(MAX_TEXT).describe("Notes for agents about the user."),
    context: Blankable(MAX_TEXT).describe("Background for agents about the user."),
  })
  .partial()
  .meta({ id: "UserUpdate", description: "Blank or null clears a field." });
export type UpdateUser = z.infer<typeof UpdateUser>;

/** Changes what was sent of the caller's own fields. */
export async function updateUser(ctx: Context<UserActor>, input: UpdateUser): Promise<User> {
  const own = eq(users.id, ctx.actor.user_id);
  const [stored] = await ctx.db.select().from(users).where(own);
  if (!stored) throw unauthenticated();
  const changes = changesOf(stored, input);
  if (isEmpty(changes)) return toUser(stored);
  const [row] = await ctx.db.update(users).set(changes).where(own).returning();
  if (!row) throw unauthenticated();
  return toUser(row);
}
