/**
 * What is deployed, as plain data: `infra/` renders it, the local server takes the schedules from it,
 * and a test holds it against the route table. Imports nothing, so that infra can load it anywhere.
 */
export interface ApiGroup {
  /** API Gateway route keys; the most specific one wins, as API Gateway matches them. */
  routes: readonly string[];
  memory_mb: number;
  timeout_seconds: number;
  /** Files beside the bundle, from the project's root to the function's root. */
  files?: readonly { from: string; to: string }[];
  /** False: no job ever follows from a request here, so the function may not send to the queue. */
  enqueues?: false;
  /** Most requests at a time, in production. */
  max_concurrency?: number;
}

const under = (...paths: string[]) => paths.flatMap((path) => [`ANY ${path}`, `ANY ${path}/{proxy+}`]);

/**
 * 512 MB buys a third of a core: enough for JSON and a few queries. Nobody waits 15 s for what calls no host: it bounds
 * what a request costs while the database hangs, which refuses connections after ten.
 */
const ordinary = { memory_mb: 512, timeout_seconds: 15 };

export const groups = {
  /** Health, and every request that no other route takes (unknown paths, odd slashes, wrong methods): the whole table. */
  fallback: { routes: ["$default"], ...ordinary },
  reference: {
    routes: ["GET /openapi.json", "GET /docs", "GET /docs/{proxy+}"],
    ...ordinary,
    enqueues: false,
    files: [
      { from: "node_modules/swagger-ui-dist/swagger-ui.css", to: "docs/swagger-ui.css" },
      { from: "node_modules/swagger-ui-dist/swagger-ui-bundle.js", to: "docs/swagger-ui-bundle.js" },
    ],
  },
  users: { routes: under("/api/v1/users", "/api/v1/auth"), ...ordinary },
  organizations: { routes: under("/organizations", "/api/v1/organizations"), ...ordinary },
  "custom-fields": {
    routes: under("/organizations/me/custom-fields", "/api/v1/organizations/me/custom-fields"),
    ...ordinary,
    enqueues: false,
  },
  tags: { routes: under("/api/tags", "/api/v1/tags"), ...ordinary },
  /** Hosts are dialled while somebody waits: at most 10 s for a probe or a status, 23 s for what is repeated. */
  gateways: { routes: under("/api/v1/gateways", "/api/v1/gateway"), memory_mb: 512, timeout_seconds: 28 },
  /** Writes hundreds of files and hashes new tokens while somebody waits, for 25 s at the most. */
  templates: { routes: under("/api/v1/gateways/{gateway_id}/templates"), memory_mb: 1024, timeout_seconds: 28 },
  boards: { routes: under("/api/v1/boards"), ...ordinary },
  "board-groups": { routes: under("/api/v1/board-groups"), ...ordinary },
  memory: {
    routes: under(
      "/api/v1/boards/{board_id}/memory",
      "/api/v1/boards/{board_id}/group-memory",
      "/api/v1/board-groups/{group_id}/memory",
    ),
    ...ordinary,
  },
  onboarding: { routes: under("/api/v1/boards/{board_id}/onboarding"), ...ordinary },
  tasks: { routes: under("/api/v1/tasks", "/api/v1/boards/{board_id}/tasks"), ...ordinary },
  approvals: { routes: under("/api/v1/boards/{board_id}/approvals"), ...ordinary },
  webhooks: { routes: under("/api/v1/boards/{board_id}/webhooks"), ...ordinary },
  /** The public door has a function of its own, and a cap: a flood of posts starves nobody else's concurrency. */
  ingest: { routes: ["POST /api/v1/boards/{board_id}/webhooks/{webhook_id}"], ...ordinary, max_concurrency: 50 },
  /** Hosts are told and asked while somebody waits; API Gateway waits for 30 s. */
  agents: { routes: under("/api/v1/agents"), memory_mb: 512, timeout_seconds: 28 },
  /** Agents wait for what they ask of a host: 25 s at the most. */
  agent: { routes: under("/api/v1/agent"), memory_mb: 512, timeout_seconds: 28 },
  activity: { routes: under("/api/v1/activity", "/api/activity"), ...ordinary },
  metrics: { routes: under("/api/v1/metrics"), ...ordinary },
  /** A host is told while somebody waits, and an archive of up to megabytes is unpacked for as long as an answer may take. */
  skills: { routes: under("/api/v1/skills", "/api/skills"), memory_mb: 1024, timeout_seconds: 28 },
  /** The remote directory is given 15 s. */
  souls: { routes: under("/api/v1/souls-directory", "/api/souls-directory"), memory_mb: 512, timeout_seconds: 20 },
} as const satisfies Record<string, ApiGroup>;

export type GroupName = keyof typeof groups;

/**
 * All streams, behind a function URL: API Gateway passes an answer on only when it is whole. A stream has a sandbox to
 * itself for as long as it lives, so the least memory in which a database connection is comfortable. It ends by itself
 * well before Lambda would end it, since nobody tells the function that a client has left.
 */
export const stream = {
  memory_mb: 256,
  timeout_seconds: 900,
  max_seconds: 600,
  /** Streams at a time, in production: what they may cost at the most. */
  max_concurrency: 100,
} as const;

/** SQS carries job ids. */
export interface Queue {
  /** Messages that a consumer gets at a time; it works on all of them at once. */
  batch_size: number;
  timeout_seconds: number;
  /** Six times the consumer's timeout, as AWS advises for partial batch failures. */
  visibility_seconds: number;
  max_receives: number;
  /** Batches at a time. */
  max_concurrency: number;
  memory_mb: number;
}

/**
 * An attempt to provision puts up with its host for a minute, and its last call may take half a minute more. Ten jobs at a
 * time mostly wait for their hosts, for which 512 MB suffice.
 */
export const deliveries = {
  batch_size: 10,
  timeout_seconds: 120,
  visibility_seconds: 720,
  max_receives: 5,
  max_concurrency: 10,
  memory_mb: 512,
} as const satisfies Queue;

/**
 * What syncs of templates and of skill packs leave after their request. As patient as the deliveries; but many agents of one
 * run wait for their turn at one host, so that more of them at a time would only wait longer. Files are rendered and archives
 * unpacked here as in the requests, hence their memory.
 */
export const syncs = {
  batch_size: 5,
  timeout_seconds: 120,
  visibility_seconds: 720,
  max_receives: 5,
  max_concurrency: 4,
  memory_mb: 1024,
} as const satisfies Queue;

/**
 * Minutes between runs. Nothing runs oftener than every five minutes, and what runs as often runs at the same time: then a
 * database that suspends after a minute sleeps in between. A deployment may stretch them (infra/tick.ts).
 */
export const schedules = {
  relay: { every_minutes: 5 },
  lifecycle: { every_minutes: 5 },
  probe: { every_minutes: 5 },
  /** Gateways with an interval are synced within five minutes of when they are due. */
  sync: { every_minutes: 5 },
  retention: { every_minutes: 60 },
} as const satisfies Record<string, { every_minutes: number }>;

export type ScheduleName = keyof typeof schedules;

/** The one function behind all schedules. A sweep goes on in batches until nothing is left: two minutes are plenty, and less than a tick. */
export const scheduled = { memory_mb: 512, timeout_seconds: 120 } as const;

/** Invoked by a deployment before any new code is live. An index on a large table takes minutes, and a deployment can wait. */
export const migrate = {
  memory_mb: 512,
  timeout_seconds: 300,
  files: [{ from: "migrations", to: "migrations" }],
} as const;
