/** Sets up services with a body storage whose calls a test can make fail, and payloads that are old enough to move. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BodyStorage } from "@board/core/context/body-storage";
import { board_webhook_payloads, jobs, webhook_body_orphans } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { Webhook } from "@board/core/webhook/webhook";
import { createBodyFolder } from "@board/local/body-folder";
import { eq, like, sql } from "drizzle-orm";
import { renew, setup } from "../support/fixtures.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

export const DAY_MS = 86_400_000;

/** Runs before a call of the storage, which it can refuse or delay. */
type Interceptor = (call: keyof BodyStorage, key: string) => Promise<void> | void;

export interface StoredBodies {
  world: World;
  folder: string;
  /** By default every call goes to the folder. */
  intercept: { before: Interceptor; after: Interceptor };
  /** Lists the keys of an organization's objects in the folder. */
  keysOf(tenant: Tenant): Promise<string[]>;
  /** Counts the objects of an organization that are recorded as not belonging to a payload. */
  countOrphans(tenant: Tenant): Promise<number>;
  /** Posts a payload that was received some days ago, and whose notification has ended. */
  addOld(webhook: Webhook, body?: string | Uint8Array, days?: number): Promise<string>;
  /** Adds copies of a payload, each a millisecond later. */
  addCopies(id: string, count: number): Promise<void>;
  /** Runs the schedule that moves old bodies to the storage. */
  run(): Promise<void>;
  bodyOf(id: string): Promise<typeof board_webhook_payloads.$inferSelect>;
  close(): Promise<void>;
}

async function openStoredBodies(environment: Record<string, string> = {}): Promise<StoredBodies> {
  const folder = await mkdtemp(path.join(tmpdir(), "board-bodies-"));
  const inside = createBodyFolder(folder);
  const intercept: StoredBodies["intercept"] = { before: () => {}, after: () => {} };
  const through = async <T>(call: keyof BodyStorage, key: string, work: () => Promise<T>): Promise<T> => {
    await intercept.before(call, key);
    const result = await work();
    await intercept.after(call, key);
    return result;
  };
  const bodies: BodyStorage = {
    put: (key, body) => through("put", key, () => inside.put(key, body)),
    get: (key, max) => through("get", key, () => inside.get(key, max)),
    delete: (key) => through("delete", key, () => inside.delete(key)),
  };
  const world = await createWorld({ bodies, environment: { WEBHOOK_BODY_STORAGE: folder, ...environment } });
  return {
    world,
    folder,
    intercept,
    keysOf: async ({ organization_id }) => (await listFiles(folder)).filter((key) => key.startsWith(`${organization_id}/`)),
    countOrphans: ({ organization_id }) =>
      world.db.$count(webhook_body_orphans, like(webhook_body_orphans.body_key, `${organization_id}/%`)),
    ...toolsOf(world),
    async close() {
      await world.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Opens a storage for all tests of a file. Each test starts with a working storage and a new tenant with a webhook. */
export async function setupStoredBodies() {
  const fixture = await setup(openStoredBodies());
  let tenants = 0;
  const home = renew(() => {
    Object.assign(fixture.intercept, { before: () => {}, after: () => {} });
    return fixture.world.tenant(`tenant-${++tenants}`);
  });
  return { fixture, home, webhook: renew(() => createWebhook(fixture.world, home)) };
}

export const toolsOf = (world: World) => ({
  addOld: async (webhook: Webhook, body?: string | Uint8Array, days = 31): Promise<string> => {
    const id = await postPayload(world, webhook, body);
    const received_at = new Date(world.now().getTime() - days * DAY_MS);
    await world.db.update(board_webhook_payloads).set({ received_at }).where(eq(board_webhook_payloads.id, id));
    await world.db.update(jobs).set({ status: "done", finished_at: world.now() }).where(sql`payload ->> 'payload_id' = ${id}`);
    return id;
  },
  addCopies: async (id: string, count: number): Promise<void> => {
    const [row] = await world.db.select().from(board_webhook_payloads).where(eq(board_webhook_payloads.id, id));
    const { id: _, ...stored } = row!;
    const copies = Array.from({ length: count }, (_item, n) => ({
      ...stored,
      received_at: new Date(stored.received_at.getTime() + n),
    }));
    await world.db.insert(board_webhook_payloads).values(copies);
  },
  run: () => scheduled.bodies(world.context()),
  bodyOf: async (id: string) => {
    const [row] = await world.db.select().from(board_webhook_payloads).where(eq(board_webhook_payloads.id, id));
    return row!;
  },
});

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)).replaceAll("\\", "/")).toSorted();
}
