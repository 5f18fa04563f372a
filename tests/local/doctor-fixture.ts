import { openPostgres } from "@board/core/db/postgres";
import { gateways, jobs } from "@board/core/schema/all-tables";
import { silentLog } from "@board/core/values/log";
import type { Finding } from "@board/local/doctor/finding";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { eq } from "drizzle-orm";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { createWorld, TEST_KEYS, type Tenant, type World } from "../support/world.ts";

/** A healthy service on a PostgreSQL server, with a host, for the doctor to check. */
export interface DoctorFixture {
  postgres: Postgres;
  world: World;
  host: FakeGateway;
  home: Tenant;
  /** The settings for the doctor. */
  environment: Record<string, string>;
  /** Changes the stored row of the gateway. */
  updateGateway(values: Partial<typeof gateways.$inferInsert>): Promise<unknown>;
  close(): Promise<void>;
}

export async function startDoctorFixture(): Promise<DoctorFixture> {
  const postgres = await startPostgres();
  const DATABASE_URL = await postgres.createDatabase("board");
  const database = openPostgres(DATABASE_URL, { log: silentLog });
  await database.migrate();
  const world = await createWorld({ database });
  const host = await startFakeGateway({ token: "test-token-123" });
  const home = await world.tenant("home", host.url);
  await world.db.delete(jobs);
  return {
    postgres,
    world,
    host,
    home,
    environment: {
      ...TEST_KEYS,
      DATABASE_URL,
      AUTH_MODE: "oidc",
      OIDC_ISSUER: world.identities.issuer,
      OIDC_JWKS_URL: `${world.identities.issuer}keys`,
      OIDC_AUDIENCE: "board",
      GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8",
      SUBSCRIPTION_ALLOWED_HOSTS: "127.0.0.0/8",
      DATA_DIR: temporaryFolder(),
    },
    updateGateway: (values) => world.db.update(gateways).set(values).where(eq(gateways.id, home.gateway_id)),
    async close() {
      await cleanUpPrograms();
      await world.close();
      await database.close();
      await host.close();
      await postgres.stop();
    },
  };
}

/** Formats the findings whose check begins with `check` as `state: found`. */
export const describeFindings = (findings: Finding[], check: string): string[] =>
  findings.filter((finding) => finding.check.startsWith(check)).map(({ state, found }) => `${state}: ${found}`);
export const listProblems = (findings: Finding[]): Finding[] => findings.filter(({ state }) => state !== "ok");
