import { openPostgres } from "@board/core/db/postgres";
import { gateways, jobs } from "@board/core/db/schema";
import { silent } from "@board/core/log";
import type { Finding } from "@board/local/doctor/finding";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { type Postgres, startPostgres } from "./postgres.ts";
import { cleanUp, temporaryFolder } from "./program.ts";
import { createWorld, TEST_KEYS, type Tenant, type World } from "./world.ts";

/** A service in order, on a real PostgreSQL and with a host, for the doctor to look at. */
export interface Patient {
  postgres: Postgres;
  world: World;
  host: FakeGateway;
  home: Tenant;
  /** The settings that the doctor is given. */
  environment: Record<string, string>;
  /** Changes what is stored of the gateway. */
  setHost(values: Partial<typeof gateways.$inferInsert>): Promise<unknown>;
  close(): Promise<void>;
}

export async function startPatient(): Promise<Patient> {
  const postgres = await startPostgres();
  const DATABASE_URL = await postgres.createDatabase("board");
  const database = openPostgres(DATABASE_URL, { log: silent });
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
      GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8",
      DATA_DIR: temporaryFolder(),
    },
    setHost: (values) => world.db.update(gateways).set(values).where(eq(gateways.id, home.gateway_id)),
    async close() {
      await cleanUp();
      await world.close();
      await database.close();
      await host.close();
      await postgres.stop();
    },
  };
}

/** What findings of a check say, as `state: found`; `check` is how its name begins. */
export const told = (findings: Finding[], check: string): string[] =>
  findings.filter((finding) => finding.check.startsWith(check)).map(({ state, found }) => `${state}: ${found}`);
export const bad = (findings: Finding[]): Finding[] => findings.filter(({ state }) => state !== "ok");
