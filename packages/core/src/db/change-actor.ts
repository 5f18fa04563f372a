import { type SQL, sql } from "drizzle-orm";
import type { Agent, Public, System, User } from "../context/actor.ts";
import type { Settings } from "../config/settings.ts";
import { ACTOR_SETTING } from "../schema/columns.ts";

interface Acting {
  actor: Pick<User, "type" | "user_id"> | Pick<Agent, "type" | "agent_id"> | System | Public;
  settings: Pick<Settings, "budgets">;
}

/**
 * Names the actor of the changes that follow in the transaction (docs/decisions/changes-by-trigger.md), and the budget of the
 * texts that they add (text-by-trigger.md). It is a value for RETURNING or a select list, so that it costs no statement.
 */
export const actingActor = (ctx: Acting): SQL<string> => setActor(toSetting(ctx));

/** The same as a condition that is always met, for the statement that locks or changes rows. */
export const actingAs = (ctx: Acting): SQL => sql`${actingActor(ctx)} is not null`;

/** The same as the value of a column, for an INSERT whose rows are answered as they are. */
export const actingFor = (ctx: Acting, id: string): SQL<string> => sql<string>`(case when ${actingAs(ctx)} then ${id}::uuid end)`;

const setActor = (actor: unknown) => sql<string>`set_config(${sql.raw(`'${ACTOR_SETTING}'`)}, ${actor}, true)`;

/** Both for a prepared query, whose values then include `actingValue`. */
export const preparedActor = setActor(sql.placeholder("acting"));
export const preparedActingAs = sql`${preparedActor} is not null`;

export const actingValue = (ctx: Acting) => ({ acting: toSetting(ctx) });

/** Strangers who post to webhooks fill only this part of the budget, so that the organization itself can still write. */
const PUBLIC_SHARE = 0.5;

/** Type, id and budget. What the service does by itself has none of them, and who posts to a webhook has no name. */
function toSetting({ actor, settings }: Acting): string {
  if (actor.type === "system") return "";
  const share = actor.type === "public" ? PUBLIC_SHARE : 1;
  const budget = Math.floor(settings.budgets.organization_text_bytes * share) || "";
  const id = actor.type === "user" ? actor.user_id : actor.type === "agent" ? actor.agent_id : "";
  return `${id && actor.type}:${id}:${budget}`;
}
