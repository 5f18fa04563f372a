import { and, eq, getTableColumns, or, sql, type Placeholder } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "@board/core/context/actor";
import { createMainAgentIfMissing, removeMainAgent, updateMainAgent } from "../provisioning/main-agent.ts";
import { agents } from "@board/core/schema/agent.sql";
import { resumeWorkOfGateway } from "../provisioning/resume.ts";
import { boards } from "@board/core/schema/board.sql";
import { changedFields, isEmpty } from "@board/core/values/changed-fields";
import { actingAs, actingFor } from "@board/core/db/change-actor";
import { type Context, transaction } from "@board/core/context/context";
import { withLockTimeoutRetry } from "@board/core/db/retry-transaction";
import { DomainError, notFound } from "@board/core/values/errors";
import type { Page, PageQuery } from "@board/core/lists/page";
import {
  TextOrNull,
  Id,
  Instant,
  Integer,
  MAX_NAME,
  MAX_SECRET,
  MAX_URL,
  NonEmpty,
  isValidSoFar,
  valueError,
  lazyObject,
} from "@board/core/values/wire";
import { GATEWAY_KINDS, gateways } from "@board/core/schema/gateway.sql";
import { initialSyncDue } from "./sync-due.ts";
import { maskToken, UNREADABLE_MASK } from "./mask.ts";
import { hasSeenAgent, insertPullGateway, updatePullGateway, seenAfter } from "@board/core/agent/pull-gateway";
import { closeCircuit } from "@board/core/job/circuit";
import { probeGateway, type Connectivity, recordConnectivityChange } from "../provisioning/connectivity.ts";
import { recordHostState } from "../provisioning/host-history.ts";
import { type GatewayRow, getGatewayRow, isOwnGateway, readableToken, sealToken, unsealToken } from "@board/core/gateway/target";
import { gatewayOrigin, isGatewayUrl } from "../wire/url.ts";
import { newestFirst } from "@board/core/lists/keyset";
import { truncatable } from "@board/core/lists/large-fields";
import { filterBy } from "@board/core/lists/filter";
import { listOf } from "@board/core/lists/list";
import { recordAudit } from "@board/core/audit/record";

const GatewayKind = z.enum(GATEWAY_KINDS);

export const Gateway = lazyObject(() => ({
  id: Id.describe("Id of the gateway."),
  organization_id: Id.describe("Organization that the gateway belongs to."),
  name: z.string().describe("Display name."),
  kind: GatewayKind.describe("`openclaw` has a host; the agents of a `pull` gateway come and ask."),
  url: z.string().describe("WebSocket address of the host; blank without a host."),
  workspace_root: z.string().describe("Folder on the host that contains the agents' workspaces; blank without a host."),
  disable_device_pairing: z.boolean().describe("Connects as control UI, without a device identity."),
  allow_insecure_tls: z.boolean().describe("Accepts any TLS certificate of a wss host."),
  token: z.string().nullable().describe("The masked gateway token: stars and its last four characters."),
  has_token: z.boolean().describe("Whether a token is stored."),
  version: z.string().nullable().describe("Version the host last reported."),
  connected: z
    .boolean()
    .describe("Whether the last call reached the host; without a host, whether an agent was seen in ten minutes."),
  last_error: z.string().nullable().describe("Why the host is not connected, or a warning about its version."),
  sync_interval_minutes: z.int().nullable().describe("Interval of the scheduled template sync in minutes; null when it is off."),
  created_at: Instant.describe("When the gateway was registered."),
  updated_at: Instant.describe("When the gateway was last changed."),
  ...truncatable,
})).meta({ id: "Gateway", description: "A registered OpenClaw host that runs agents, or a group of agents that need no host." });
export type Gateway = z.infer<typeof Gateway>;

const MIN_SYNC_MINUTES = 5;
const MAX_SYNC_MINUTES = 525_600;

const Fields = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Display name."),
  url: NonEmpty(MAX_URL)
    .refine(isGatewayUrl, { ...valueError("url must be ws, wss, http or https with a host"), when: isValidSoFar })
    .describe("Address of the host, with the scheme ws, wss, http or https."),
  workspace_root: NonEmpty(MAX_URL).describe("Folder on the host for the agents' workspaces. The host expands `~`."),
  token: TextOrNull(MAX_SECRET).describe(
    "Gateway token. A blank token removes the stored one; the masked form keeps it. Required with a url of another host.",
  ),
  disable_device_pairing: z.boolean().describe("Connects as control UI, without a device identity."),
  allow_insecure_tls: z.boolean().describe("Accepts any TLS certificate of a wss host."),
  sync_interval_minutes: Integer(MIN_SYNC_MINUTES, MAX_SYNC_MINUTES)
    .nullable()
    .describe("Interval of the scheduled template sync in minutes; null when it is off."),
}));

const HostGateway = lazyObject(() => ({
  ...Fields.shape,
  kind: z.literal("openclaw").default("openclaw").describe("A gateway with a host, the default. It cannot be changed."),
  token: Fields.shape.token.default(null),
  disable_device_pairing: Fields.shape.disable_device_pairing.default(false),
  allow_insecure_tls: Fields.shape.allow_insecure_tls.default(false),
  sync_interval_minutes: Fields.shape.sync_interval_minutes.default(null),
}));

const NO_HOST = valueError("a pull gateway has no host");

/** The fields of a gateway without a host. Fields that only a host has are refused, except for the address, which is ignored. */
const PullGateway = lazyObject(() => ({
  name: Fields.shape.name,
  kind: z.literal("pull").describe("For agents that come and ask, without a host. It cannot be changed."),
  ...Fields.pick({ url: true, workspace_root: true, sync_interval_minutes: true }).partial().shape,
  token: Fields.shape.token.default(null).refine((token) => !token, NO_HOST),
  disable_device_pairing: Fields.shape.disable_device_pairing.default(false).refine((value) => !value, NO_HOST),
  allow_insecure_tls: Fields.shape.allow_insecure_tls.default(false).refine((value) => !value, NO_HOST),
}));

const withKind = (input: unknown) =>
  typeof input === "object" && input !== null && !("kind" in input) ? { ...input, kind: "openclaw" } : input;

export const CreateGateway = z
  .preprocess(withKind, z.discriminatedUnion("kind", [HostGateway, PullGateway]))
  .meta({ id: "GatewayCreate" });
export type CreateGateway = z.infer<typeof CreateGateway>;

export const UpdateGateway = lazyObject(
  () => Fields.extend({ kind: GatewayKind.describe("The kind that the gateway has; another one is refused.") }).partial().shape,
).meta({ id: "GatewayUpdate" });
export type UpdateGateway = z.infer<typeof UpdateGateway>;

/** Lists the organization's gateways, newest first. */
export function listGateways(ctx: Context<Admin>, query: PageQuery): Promise<Page<Gateway>> {
  const { organization_id } = ctx.actor.active;
  return gatewayList.read(ctx, query, {
    owner: organization_id,
    filters: [filterBy("organization_id", organization_id, (id) => eq(gateways.organization_id, id))],
    values: { seen_after: seenAfter(ctx) },
    toItem: (row) => toGateway(ctx, row),
  });
}

export async function getGateway(ctx: Context<Admin>, gateway_id: string): Promise<Gateway> {
  const [row] = await ctx.db
    .select(shownColumns(seenAfter(ctx)))
    .from(gateways)
    .where(isOwnGateway(ctx, gateway_id));
  if (!row) throw notFound();
  return toGateway(ctx, row);
}

/** Returns the columns to show. A gateway without a host counts as connected if one of its agents was seen recently. */
const shownColumns = (seen_after: string | Placeholder) => ({
  ...getTableColumns(gateways),
  connected: sql<boolean>`case when ${gateways.kind} = 'pull' then ${hasSeenAgent(seen_after)} else ${gateways.connected} end`,
});

const gatewayList = listOf({
  name: "gateways",
  table: gateways,
  columns: shownColumns(sql.placeholder("seen_after")),
  order: newestFirst(gateways),
});

/** Registers a gateway and creates its main agent. An unreachable host is registered as not connected, with the error. */
export async function createGateway(ctx: Context<Admin>, input: CreateGateway): Promise<Gateway> {
  if (input.kind === "pull") return createPullGateway(ctx, input);
  const { token, ...values } = input;
  const connectivity = await probeGateway(ctx, { ...values, token, organization_id: ctx.actor.active.organization_id });
  const sync_due_at = initialSyncDue(ctx.now(), input.sync_interval_minutes);
  return transaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .insert(gateways)
      .values({
        ...values,
        ...connectivity,
        sync_due_at,
        token_sealed: sealToken(ctx, token),
        organization_id: actingFor(ctx, ctx.actor.active.organization_id),
      })
      .returning();
    await recordHostState(ctx, row!.id, null, row!);
    await createMainAgentIfMissing(ctx, row!);
    const gateway = toGateway(ctx, row!);
    await recordGatewayAudit(ctx, "gateway.created", null, row!);
    await ctx.recordAnswer?.(ctx, gateway);
    return gateway;
  });
}

const createPullGateway = (ctx: Context<Admin>, input: z.infer<typeof PullGateway>): Promise<Gateway> =>
  transaction(ctx, async (ctx) => {
    const row = await insertPullGateway(ctx, ctx.actor.active.organization_id, input);
    const gateway = toGateway(ctx, row);
    await recordGatewayAudit(ctx, "gateway.created", null, row);
    await ctx.recordAnswer?.(ctx, gateway);
    return gateway;
  });

/**
 * Changes the fields that were sent. A changed connection is tested first, as at registration. A missing main agent is created.
 * The files of an existing main agent are updated if the change affects their content. A stored token is never sent to a host
 * other than the one for which it was entered.
 */
export async function updateGateway(ctx: Context<Admin>, gateway_id: string, input: UpdateGateway): Promise<Gateway> {
  const stored = await getGatewayRow(ctx, gateway_id);
  if (input.kind !== undefined && input.kind !== stored.kind) throw new DomainError("invalid", "kind cannot be changed");
  if (stored.kind === "pull") {
    await updatePullGateway(ctx, gateway_id, input);
    return getGateway(ctx, gateway_id);
  }
  const { token: sentToken, ...sent } = input;
  const storedToken = readableToken(ctx, stored);
  const hasToken = stored.token_sealed !== null;
  const isStoredToken = sentToken === storedToken && (sentToken !== null || !hasToken);
  const keepsToken = sentToken === undefined || isStoredToken || (sentToken !== null && sentToken === shownToken(ctx, stored));
  const changes = changedFields(stored, sent);
  const keepsUnsentToken = keepsToken && hasToken && sentToken !== storedToken;
  if (keepsUnsentToken && changes.url !== undefined && gatewayOrigin(changes.url) !== gatewayOrigin(stored.url))
    throw new DomainError("invalid", "token must be sent again when url changes its host, port or scheme.");
  const { url, disable_device_pairing, allow_insecure_tls, sync_interval_minutes } = changes;
  const isConnectionChanged =
    !keepsToken || url !== undefined || disable_device_pairing !== undefined || allow_insecure_tls !== undefined;
  const connectivity: Partial<Connectivity> = isConnectionChanged
    ? await probeGateway(ctx, { ...stored, ...changes, token: keepsToken ? unsealToken(ctx, stored) : sentToken })
    : {};
  const tokenChange = keepsToken ? {} : { token_sealed: sealToken(ctx, sentToken) };
  const syncChange = sync_interval_minutes === undefined ? {} : { sync_due_at: initialSyncDue(ctx.now(), sync_interval_minutes) };
  return transaction(ctx, async (ctx) => {
    const values = { ...changes, ...tokenChange, ...syncChange, ...connectivity };
    // The row is locked even when nothing is written, so that no main agent is created while the gateway is removed.
    const [row] = isEmpty(values)
      ? await ctx.db.select().from(gateways).where(isOwnGateway(ctx, gateway_id)).for("key share")
      : await ctx.db
          .update(gateways)
          .set(values)
          .where(and(isOwnGateway(ctx, gateway_id), actingAs(ctx)))
          .returning();
    if (!row) throw notFound();
    // The new connection may lead to another host, so the jobs that waited for the old host are tried again.
    if (isConnectionChanged) await closeCircuit(ctx, gateway_id);
    if (isConnectionChanged) await recordHostState(ctx, gateway_id, stored, row);
    if (connectivity.connected !== undefined && connectivity.connected !== stored.connected)
      await recordConnectivityChange(ctx, row);
    const affectsMainAgent = isConnectionChanged || changes.name !== undefined || changes.workspace_root !== undefined;
    if (!(await createMainAgentIfMissing(ctx, row)) && affectsMainAgent) await updateMainAgent(ctx, stored, row);
    if (connectivity.connected) await resumeWorkOfGateway(ctx, row);
    if (!isEmpty({ ...changes, ...tokenChange })) await recordGatewayAudit(ctx, "gateway.updated", stored, row);
    return toGateway(ctx, row);
  });
}

/** Removes a gateway and its main agent. Throws `conflict` while a board or a board's agent uses the gateway. */
export function removeGateway(ctx: Context<Admin>, gateway_id: string): Promise<void> {
  return withLockTimeoutRetry(ctx, async (ctx) => {
    const [row] = await ctx.db.select().from(gateways).where(isOwnGateway(ctx, gateway_id)).for("update");
    if (!row) throw notFound();
    const [board] = await ctx.db.select({ id: boards.id }).from(boards).where(eq(boards.gateway_id, gateway_id)).limit(1);
    const [boardAgent] = await ctx.db
      .select({ id: agents.id })
      .from(agents)
      .innerJoin(boards, eq(boards.id, agents.board_id))
      .where(or(eq(agents.gateway_id, gateway_id), eq(boards.gateway_id, gateway_id)))
      .limit(1);
    if (board || boardAgent) throw new DomainError("conflict", "Gateway is still used by boards or agents.");
    await removeMainAgent(ctx, row);
    await ctx.db.delete(gateways).where(isOwnGateway(ctx, gateway_id));
    await recordGatewayAudit(ctx, "gateway.removed", row, null);
  });
}

type GatewayAction = "gateway.created" | "gateway.updated" | "gateway.removed";

function recordGatewayAudit(ctx: Context, action: GatewayAction, before: GatewayRow | null, after: GatewayRow | null) {
  const target = (after ?? before)!;
  const fields = (row: GatewayRow | null) => {
    if (row === null) return null;
    const { name, url, workspace_root, token_sealed, disable_device_pairing, allow_insecure_tls, sync_interval_minutes } = row;
    return { name, url, workspace_root, token_sealed, disable_device_pairing, allow_insecure_tls, sync_interval_minutes };
  };
  const { organization_id } = target;
  return recordAudit(ctx, action, { organization_id, target, before: fields(before), after: fields(after) });
}

/** Returns the masked token. A token that cannot be read has only stars, so that it counts as set. */
const shownToken = (ctx: Context, row: GatewayRow): string | null =>
  maskToken(readableToken(ctx, row)) ?? (row.token_sealed === null ? null : UNREADABLE_MASK);

function toGateway(ctx: Context, row: GatewayRow): Gateway {
  const { token_sealed, checked_at, sync_due_at, created_at, updated_at, ...visible } = row;
  return {
    ...visible,
    token: shownToken(ctx, row),
    has_token: token_sealed !== null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
