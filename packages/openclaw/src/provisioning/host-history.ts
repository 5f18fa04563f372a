import { and, desc, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { getGatewayRow } from "@board/core/gateway/target";
import { filterBy } from "@board/core/lists/filter";
import { newestFirst } from "@board/core/lists/keyset";
import { listOf } from "@board/core/lists/list";
import type { Page, PageQuery } from "@board/core/lists/page";
import { gateway_connectivity, HOST_STATES } from "@board/core/schema/gateway.sql";
import { Id, Instant, lazyObject } from "@board/core/values/wire";

/** Number of entries that are kept for each gateway. */
const KEPT = 50;

export const ConnectivityChange = lazyObject(() => ({
  id: Id.describe("Id of the entry."),
  created_at: Instant.describe("When the service noticed the change."),
  state: z
    .enum(HOST_STATES)
    .describe("`warned`: the host is connected, but its version is too old or unknown; `error` has the warning."),
  version: z.string().nullable().describe("Version that the host had last reported."),
  error: z.string().nullable().describe("Why the host was not connected, or the warning about its version."),
})).meta({ id: "GatewayConnectivityChange", description: "A change of the connectivity of a gateway." });
export type ConnectivityChange = z.infer<typeof ConnectivityChange>;

interface HostState {
  connected: boolean;
  version: string | null;
  last_error: string | null;
}

const stateOf = ({ connected, last_error }: HostState) =>
  connected ? (last_error === null ? "connected" : "warned") : "disconnected";

/**
 * Records the state of a host if its state or version differs from before. Another error for the same state is not recorded,
 * because a host that is down may fail differently at each probe. The caller has locked the gateway.
 */
export async function recordHostState(
  ctx: Context,
  gateway_id: string,
  before: HostState | null,
  after: HostState,
): Promise<void> {
  const { version, last_error: error } = after;
  const state = stateOf(after);
  if (before && stateOf(before) === state && before.version === version) return;
  await ctx.db.insert(gateway_connectivity).values({ gateway_id, state, version, error });
  const ofGateway = eq(gateway_connectivity.gateway_id, gateway_id);
  const old = ctx.db
    .select({ id: gateway_connectivity.id })
    .from(gateway_connectivity)
    .where(ofGateway)
    .orderBy(desc(gateway_connectivity.created_at), desc(gateway_connectivity.id))
    .offset(KEPT);
  await ctx.db.delete(gateway_connectivity).where(and(ofGateway, inArray(gateway_connectivity.id, old)));
}

const { id, created_at, state, version, error } = gateway_connectivity;

const historyList = listOf({
  name: "connectivity of a gateway",
  table: gateway_connectivity,
  columns: { id, created_at, state, version, error },
  order: newestFirst({ created_at, id }),
});

/** Lists the changes of a gateway's connectivity, newest first. */
export async function listConnectivity(
  ctx: Context<Admin>,
  gateway_id: string,
  query: PageQuery,
): Promise<Page<ConnectivityChange>> {
  const gateway = await getGatewayRow(ctx, gateway_id);
  return historyList.read(ctx, query, {
    owner: gateway.id,
    filters: [filterBy("gateway_id", gateway.id, (id) => eq(gateway_connectivity.gateway_id, id))],
    toItem: (row) => ({ ...row, created_at: row.created_at.toISOString() }),
  });
}
