import { type SQL, sql } from "drizzle-orm";
import type { Agent, Public, System, User } from "../context/actor.ts";
import { ACTOR_SETTING } from "../schema/columns.ts";

interface Acting {
  actor: Pick<User, "type" | "user_id"> | Pick<Agent, "type" | "agent_id"> | System | Public;
}

/**
 * Names the actor of the changes that follow in the transaction (docs/decisions/changes-by-trigger.md). It is a value for
 * RETURNING or a select list, so that it costs no statement.
 */
export const actingActor = ({ actor }: Acting): SQL<string> => setActor(toSetting(actor));

/** The same as a condition that is always met, for the statement that locks or changes rows. */
export const actingAs = (ctx: Acting): SQL => sql`${actingActor(ctx)} is not null`;

const setActor = (actor: unknown) => sql<string>`set_config(${sql.raw(`'${ACTOR_SETTING}'`)}, ${actor}, true)`;

/** Both for a prepared query, whose values then include `actingValue`. */
export const preparedActor = setActor(sql.placeholder("acting"));
export const preparedActingAs = sql`${preparedActor} is not null`;

export const actingValue = ({ actor }: Acting) => ({ acting: toSetting(actor) });

const toSetting = (actor: Acting["actor"]): string =>
  actor.type === "user" ? `user:${actor.user_id}` : actor.type === "agent" ? `agent:${actor.agent_id}` : "";
