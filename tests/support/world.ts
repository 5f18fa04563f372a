import { readFileSync } from "node:fs";
import { openBodyStorage } from "@board/local/body-storage";
import { openFileStorage } from "@board/local/file-storage";
import { openMailer } from "@board/local/mailer";
import { readConsoleFile } from "@board/local/console-files";
import { createApp } from "@board/api/app";
import type { Runtime } from "@board/api/runtime";
import { endpoints } from "@board/api/groups";
import type { Budgets } from "@board/core/config/budgets";
import type { System } from "@board/core/context/actor";
import type { BodyStorage } from "@board/core/context/body-storage";
import type { FileStorage } from "@board/core/context/file-storage";
import type { EventBus } from "@board/core/context/event-bus";
import type { Context } from "@board/core/context/context";
import type { Db } from "@board/core/context/db";
import type { Database } from "@board/core/db/database";
import { organization_members, users } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { createNameResolver, type ResolverOptions } from "@board/core/dns/resolver";
import { getOrCreateDevice } from "@board/openclaw/host/device-key";
import { createGateways } from "@board/openclaw/wire/websocket";
import { relay } from "@board/core/job/relay";
import { createLocalBus } from "@board/core/context/local-event-bus";
import { createScopedLog, type Log } from "@board/core/values/log";
import type { Dimensions, Meter, MetricName } from "@board/core/context/meter";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { parseSettings, type Settings } from "@board/core/config/settings";
import { toAddressRules } from "@board/openclaw/gateway/address-rules";
import { toReceiverRules } from "@board/core/subscription/receiver-rules";
import { createHttpClient, locateAllowedReceiver, locatePublicHost } from "@board/core/http/https-client";
import type { HttpClient } from "@board/core/context/http-client";
import { eq } from "drizzle-orm";
import { type Answer, type CallOptions, call } from "./http.ts";
import { type IdentityProvider, startIdentityProvider } from "./identity-provider.ts";
import { skipProvisioning } from "./skip-provisioning.ts";
import { onLambda } from "./target.ts";
import { type CopyOptions, openCopy } from "./test-database.ts";

export interface LogLine {
  level: keyof Log;
  event: string;
  message: string;
  [field: string]: unknown;
}

interface Measurement {
  name: MetricName;
  value: number;
  dimensions: Dimensions;
}

export interface Person {
  subject: string;
  token: string;
}

type Role = "owner" | "admin" | "member";

/** Whether a member may read and write all boards. */
interface AccessFlags {
  read?: boolean;
  write?: boolean;
}

export interface Tenant {
  owner: Person;
  organization_id: string;
  gateway_id: string;
  board_id: string;
  lead: { id: string; token: string; session_key: string };
  worker: { id: string; token: string; session_key: string };
}

/** The service in a test: HTTP calls, a clock to move and jobs to drain, with all external systems on loopback. */
export interface World {
  settings: Settings;
  db: Db;
  log: LogLine[];
  /** The metrics that the service recorded. */
  measurements: Measurement[];
  /** Statements sent to the database since the last `statements.length = 0`. */
  statements: string[];
  /** Returns how many statements some work sends to the database. */
  countStatements(work: () => Promise<unknown>): Promise<number>;
  identities: IdentityProvider;
  now(): Date;
  elapse(ms: number): void;
  context(): Context<System>;
  /** The runtime of the app in this process, to create a similar app. */
  runtime: Runtime;
  app: ReturnType<typeof createApp>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Runs every due job and returns the number of wake-ups. Throws when a job crashes. */
  drain(): Promise<number>;
  person(subject: string, claims?: Record<string, unknown>): Promise<Person>;
  /** Creates an organization with a gateway at `gateway_url`, a board, a lead and a worker, who are not provisioned on a host. */
  tenant(subject: string, gateway_url?: string): Promise<Tenant>;
  /** Creates a person who is a member of the tenant's organization. */
  member(subject: string, tenant: { organization_id: string }, role?: Role, flags?: AccessFlags): Promise<Person>;
  /** Adds a person to an organization and makes it the active one. */
  join(person: Person, organization_id: string, role: Role, flags?: AccessFlags): Promise<string>;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** Settings that are added to the settings of every test world, or replace them. */
  environment?: Record<string, string>;
  /** Limits that differ from their defaults, as in the setting LIMITS. */
  limits?: Partial<Budgets>;
  /** Options of streams; by default they stay open until the world is closed. */
  streams?: Partial<Runtime["streams"]>;
  /** A database to use instead of a new copy of the migrated database. */
  database?: Database;
  socketAddress?: () => string;
  /** The clock that `elapse` moves; by default the system clock. */
  clock?: () => Date;
  /** The client for external web servers; by default the service's. */
  web?: HttpClient;
  /** Options of name resolution; by default names are looked up as the machine is set up. */
  resolver?: ResolverOptions;
  /** The bus for board events when they are on; by default they are dropped. */
  bus?: EventBus;
  /** The storage for bodies of payloads; by default the storage that the settings name. */
  bodies?: BodyStorage;
  /** The storage for files of tasks; by default the storage that WEBHOOK_BODY_STORAGE names, if any. */
  files?: FileStorage;
}

export const TEST_KEYS = {
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  TOKEN_PEPPER: Buffer.alloc(32, 2).toString("base64"),
};

/** Returns the value of the setting LIMITS. */
export const toLimits = (limits: Partial<Budgets>): string =>
  Object.entries(limits)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const identities = await startIdentityProvider();
  const environment = {
    AUTH_MODE: "oidc",
    OIDC_ISSUER: identities.issuer,
    OIDC_JWKS_URL: `${identities.issuer}keys`,
    OIDC_AUDIENCE: "board",
    GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8",
    SUBSCRIPTION_ALLOWED_HOSTS: "127.0.0.0/8",
    AUTH_FAILURES_PER_MINUTE: "0",
    // Board events are on by default in the service, but their jobs would disturb tests that count jobs.
    BOARD_EVENTS: "off",
    ...TEST_KEYS,
    LIMITS: toLimits(options.limits ?? {}),
    ...options.environment,
  };
  const settings = parseSettings(environment, "local");
  const statements: string[] = [];
  const database = options.database ?? (await openTestDatabase(statements));
  const { db } = database;
  const lines: LogLine[] = [];
  const measurements: Measurement[] = [];
  const meter: Meter = { record: (name, value, dimensions = {}) => void measurements.push({ name, value, dimensions }) };
  const log = createLogRecorder(lines);
  let offset = 0;
  const { clock = () => new Date() } = options;
  const now = () => new Date(clock().getTime() + offset);
  const resolve = createNameResolver({ ...settings.budgets, ...options.resolver });
  const gateways = createGateways({
    resolve,
    device: () => getOrCreateDevice({ db, settings }),
    settings: toAddressRules(settings),
    timeouts: { challenge: 300 },
  });
  const bus = options.bus ?? createLocalBus();
  const http =
    options.web ??
    createHttpClient({
      locate: locatePublicHost(resolve),
      locateReceiver: locateAllowedReceiver(resolve, toReceiverRules(settings)),
    });
  const mail = openMailer(settings);
  const bodies = options.bodies ?? openBodyStorage(settings);
  // Without a setting there is no storage, because the service's default would be a folder of this repository.
  const files = options.files ?? (settings.body_storage ? openFileStorage(settings) : null);
  const base = { db, gateways, http, bus, bodies, files, mail, settings, now, meter, trace_id: null };
  const forUnitOfWork = () => ({ ...base, log: createScopedLog(log), pendingWakeups: createPendingWakeups(), limits: new Map() });
  const context = (): Context<System> => ({ ...forUnitOfWork(), actor: { type: "system" } });
  const closing = new AbortController();
  const runtime: Runtime = {
    settings,
    createContext: () => ({ ...forUnitOfWork(), actor: { type: "public" } }),
    relay: async () => {},
    ...(settings.auth.mode === "accounts" && {
      openAccounts: async () => (await import("@board/accounts/accounts")).openAccounts(settings, () => runtime.createContext()),
    }),
    peerAddress: options.socketAddress ?? (() => "127.0.0.1"),
    readConsoleFile,
    readAsset: async (name) => readFileSync(new URL(import.meta.resolve(`swagger-ui-dist/${name}`))),
    streams: { max_seconds: Number.POSITIVE_INFINITY, shutdown_signal: closing.signal, ...options.streams },
  };
  const lambdas = onLambda
    ? await (await import("./lambda-world.ts")).startLambdaWorld({
        ...options,
        environment,
        database,
        log: lines,
        statements,
        now,
      })
    : null;
  const app = lambdas?.app ?? createApp(runtime, endpoints);
  const request = (method: string, path: string, callOptions?: CallOptions) =>
    call((target, init) => app.request(target, init), method, path, callOptions);

  const world: World = {
    settings,
    db,
    log: lines,
    measurements,
    statements,
    async countStatements(work) {
      statements.length = 0;
      await work();
      return statements.length;
    },
    identities,
    now,
    elapse(ms) {
      if (lambdas && !options.clock) lambdas.elapse(ms);
      else offset += ms;
    },
    context,
    runtime,
    app,
    call: request,
    async drain() {
      if (lambdas) return lambdas.drain(context);
      let count = 0;
      for (;;) {
        const due: string[] = [];
        const taken = await relay(context(), async (wakeUps) => {
          const ready = wakeUps.filter((wakeUp) => wakeUp.delay_seconds === 0);
          due.push(...ready.map((wakeUp) => wakeUp.id));
          // Wake-ups of jobs that are due later are refused, so that a later drain sends them again.
          return { failed: wakeUps.filter((wakeUp) => wakeUp.delay_seconds > 0).map((wakeUp) => wakeUp.id) };
        });
        if (taken === 0) return count;
        for (const id of due) await deliver(context(), id);
        count += due.length;
      }
    },
    async person(subject, claims) {
      const token = await identities.token(subject, claims);
      return { subject, token };
    },
    async tenant(subject, gateway_url = "ws://127.0.0.1:9") {
      const owner = await world.person(subject);
      const create = async (path: string, body: object) => {
        const answer = await request("POST", path, { token: owner.token, body });
        if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
        return answer.body;
      };
      await request("GET", "/api/v1/auth/bootstrap", { token: owner.token });
      const organization = (await request("GET", "/api/v1/organizations/me", { token: owner.token })).body;
      const gateway = await create("/api/v1/gateways", {
        name: `${subject} host`,
        url: gateway_url,
        workspace_root: "/srv/agents",
        token: "test-token-123",
      });
      const board = await create("/api/v1/boards", {
        name: `${subject} board`,
        description: "A board",
        gateway_id: gateway.id,
        max_agents: 5,
      });
      const lead = await create("/api/v1/agents", { name: "Lead", board_id: board.id, is_board_lead: true });
      const worker = await create("/api/v1/agents", { name: "Worker", board_id: board.id });
      await skipProvisioning(db);
      const toAgent = (agent: { id: string; auth_token: string; openclaw_session_id: string }) => ({
        id: agent.id,
        token: agent.auth_token,
        session_key: agent.openclaw_session_id,
      });
      return {
        owner,
        organization_id: organization.id,
        gateway_id: gateway.id,
        board_id: board.id,
        lead: toAgent(lead),
        worker: toAgent(worker),
      };
    },
    async member(subject, { organization_id }, role = "member", flags = {}) {
      const person = await world.person(subject);
      await world.join(person, organization_id, role, flags);
      return person;
    },
    async join(person, organization_id, role, flags = {}) {
      await request("GET", "/api/v1/users/me", { token: person.token });
      const [user] = await db
        .update(users)
        .set({ active_organization_id: organization_id })
        .where(eq(users.auth_subject, person.subject))
        .returning();
      const [member] = await db
        .insert(organization_members)
        .values({
          organization_id,
          user_id: user!.id,
          role,
          all_boards_read: flags.read ?? false,
          all_boards_write: flags.write ?? false,
        })
        .returning();
      return member!.id;
    },
    async close() {
      closing.abort();
      await lambdas?.close();
      mail?.close();
      await gateways.close();
      await identities.close();
      if (!options.database) await database.close();
    },
  };
  return world;
}

/** Opens a new copy of the migrated database. */
export async function openTestDatabase(statements: string[] = [], options: CopyOptions = {}): Promise<Database> {
  if (onLambda) return (await import("./lambda-world.ts")).openLambdaCopy(statements, options);
  return openCopy(statements, options);
}

function createLogRecorder(lines: LogLine[]): Log {
  const write =
    (level: keyof Log) =>
    (event: string, message: string, fields = {}) => {
      lines.push({ level, event, message, ...fields });
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
