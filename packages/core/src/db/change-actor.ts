import { type SQL, sql } from "drizzle-orm";
import type { Agent, Public, System, User } from "../context/actor.ts";
import type { Settings } from "../config/settings.ts";
import { ACTOR_SETTING } from "../schema/columns.ts";

interface Acting {
  actor: Pick<User, "type" | "user_id"> | Pick<Agent, "type" | "agent_id"> | System | Public;
  settings: Pick<Settings, "budgets">;
}

/**
 * Returns SQL that tells the triggers of the transaction who makes the changes (docs/decisions/changes-by-trigger.md) and how much
 * text the organization may store (text-by-trigger.md). Put it into RETURNING or a select list of a statement that runs anyway.
 */
export const actingActor = (ctx: Acting): SQL<string> => setActor(toSetting(ctx));

/** Returns `actingActor` as a condition that is always true, for the `where` of a statement that locks or changes rows. */
export const actingAs = (ctx: Acting): SQL => sql`${actingActor(ctx)} is not null`;

/** Returns `actingActor` as part of an id column, for an INSERT whose returned rows are sent as the answer. */
export const actingFor = (ctx: Acting, id: string): SQL<string> => sql<string>`(case when ${actingAs(ctx)} then ${id}::uuid end)`;

const setActor = (actor: unknown) => sql<string>`set_config(${sql.raw(`'${ACTOR_SETTING}'`)}, ${actor}, true)`;

/** `actingActor` and `actingAs` for a prepared query. Add `actingValue` to the values of the query. */
export const preparedActor = setActor(sql.placeholder("acting"));
export const preparedActingAs = sql`${preparedActor} is not null`;

export const actingValue = (ctx: Acting) => ({ acting: toSetting(ctx) });

/** The share of the text budget that webhook posts may fill, so that outsiders cannot keep the organization from writing. */
const PUBLIC_SHARE = 0.5;

/**
 * Returns the setting in the form `type:id:budget`. It is empty when the service itself acts. For a webhook post, it has a budget
 * but no actor.
 */
function toSetting({ actor, settings }: Acting): string {
  if (actor.type === "system") return "";
  const share = actor.type === "public" ? PUBLIC_SHARE : 1;
  const budget = Math.floor(settings.budgets.organization_text_bytes * share) || "";
  const id = actor.type === "user" ? actor.user_id : actor.type === "agent" ? actor.agent_id : "";
  return `${id && actor.type}:${id}:${budget}`;
}
