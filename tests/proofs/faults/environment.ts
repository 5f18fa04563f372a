/** A server with everything around it that can fail. */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../../support/database-proxy.ts";
import { type FakeEventBridge, startFakeEventBridge } from "../../support/fake-eventbridge.ts";
import { type IdentityProvider, startIdentityProvider } from "../../support/identity-provider.ts";
import { type Names, startNames } from "../../support/names.ts";
import { startNeonProxy } from "../../support/neon-proxy.ts";
import { administer, type Postgres, startPostgres } from "../../support/postgres.ts";
import { type ServerProcess, startServerProcess } from "../../support/server-process.ts";
import { createTasks } from "../load/ordinary-work.ts";
import { HOST_TOKEN } from "../load/hosts.ts";
import { createTenant, type Tenant } from "../load/tenants.ts";

export const DRIVERS = ["node-postgres", "Neon's driver"] as const;
export type Driver = (typeof DRIVERS)[number];

/** Where the identity provider's keys are. They can be unreachable while the provider signs tokens. */
export interface KeyServer {
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface Surroundings {
  postgres: Postgres;
  proxy: DatabaseProxy;
  names: Names;
  identities: IdentityProvider;
  keys: KeyServer;
  events: FakeEventBridge;
  host: FakeGateway;
  /** The environment of a server with this driver on a database. */
  environment(driver: Driver, database: string): Record<string, string>;
  start(environment: Record<string, string>, preloads?: readonly string[]): Promise<ServerProcess>;
  close(): Promise<void>;
}

export interface Prepared {
  tenant: Tenant;
  task_ids: string[];
}

const AWS = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
/** Every server reaches the database, the keys and the host by name, so that a fault can make these names unresolvable. */
const NAME = "machine.test";

export async function startSurroundings(): Promise<Surroundings> {
  const [postgres, names, identities, events, host] = await Promise.all([
    startPostgres(),
    startNames(),
    startIdentityProvider(),
    startFakeEventBridge(),
    startFakeGateway({ token: HOST_TOKEN }),
  ]);
  const proxy = await startDatabaseProxy(postgres.port);
  const neon = await startNeonProxy({ port: proxy.port });
  const { keys, url } = await startKeyServer(identities);
  return {
    postgres,
    proxy,
    names,
    identities,
    keys,
    events,
    host,
    environment: (driver, database) => ({
      ...AWS,
      ...names.env,
      OIDC_JWKS_URL: url,
      EVENTS_ENDPOINT: events.url,
      NEON_PROXY: neon.address.replace("127.0.0.1", NAME),
      DATABASE_DRIVER: driver === "node-postgres" ? "postgres" : "neon",
      DATABASE_URL: `postgres://postgres:postgres@${NAME}:${proxy.port}/${database}`,
    }),
    start: (environment, preloads = []) =>
      startServerProcess({ issuer: identities.issuer, environment, preloads: ["names.cjs", "neon-local.mjs", ...preloads] }),
    async close() {
      await keys.stop();
      await Promise.all([host.close(), neon.stop(), names.close(), identities.close(), events.stop()]);
      await proxy.close();
      await postgres.stop();
    },
  };
}

async function startKeyServer({ public_key }: IdentityProvider): Promise<{ keys: KeyServer; url: string }> {
  const server: Server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: [public_key] }));
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const keys: KeyServer = {
    async stop() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
    start: async () => void (await listen(port)),
  };
  return { keys, url: `http://127.0.0.1:${port}/keys` };
}

/** Creates the organization whose work the faults disturb, and its tasks. */
export async function prepare(server: ServerProcess, { identities, host }: Surroundings): Promise<Prepared> {
  const tenant = await createTenant(server.url, identities, "customer", host);
  return { tenant, task_ids: await createTasks(server.url, tenant) };
}

/** Runs one statement on the database server, bypassing the proxy. */
export const onServer = ({ postgres }: Surroundings, statement: string): Promise<void> =>
  administer(postgres.url("postgres"), statement);
