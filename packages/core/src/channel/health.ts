import { eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { channels, type ChannelType } from "../schema/channel.sql.ts";

interface ChannelHealth {
  /** All channels of the type, including those that are switched off. */
  total: number;
  /** Channels that are on and whose last attempt failed. */
  failing: number;
  /** The most frequent error of the failing channels. */
  frequent_error: string | null;
}

/** Counts the channels of a type in all organizations, for operators. */
export async function readChannelHealth({ db }: Pick<Context, "db">, type: ChannelType): Promise<ChannelHealth> {
  const isFailing = sql`${channels.active} and ${channels.failing_since} is not null`;
  const [row] = await db
    .select({
      total: sql<number>`count(*)::int`,
      failing: sql<number>`count(*) filter (where ${isFailing})::int`,
      frequent_error: sql<string | null>`mode() within group (order by ${channels.last_error}) filter (where ${isFailing})`,
    })
    .from(channels)
    .where(eq(channels.type, type));
  return row!;
}
