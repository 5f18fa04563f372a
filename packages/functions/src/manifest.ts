/**
 * The deployment as plain data. `infra/` creates the resources from it, the local server reads the schedules, and a test compares
 * it with the route table. It imports nothing, so that infra can load it.
 */
export interface ApiGroup {
  /** API Gateway route keys. API Gateway selects the most specific match. */
  routes: readonly string[];
  memory_mb: number;
  timeout_seconds: number;
  /** Files to add to the bundle: from the root of the project to the root of the function. */
  files?: readonly { from: string; to: string }[];
  /** False if no request of the group enqueues jobs. The function then gets no permission to send messages. */
  enqueues?: false;
  /** True if the group returns webhook payloads, whose bodies may be in a bucket. */
  reads_bodies?: true;
  /** True if the group stores files of tasks, which are in the same bucket. */
  stores_files?: true;
  /** Maximum number of concurrent requests in production. */
  max_concurrency?: number;
}

const anyMethodBelow = (...paths: string[]) => paths.flatMap((path) => [`ANY ${path}`, `ANY ${path}/{proxy+}`]);

/**
 * 512 MB comes with a third of a CPU core, which is enough for JSON and a few queries. The timeout limits the cost of a request
 * while the database does not respond. Connecting to the database fails after 10 s.
 */
const defaultSize = { memory_mb: 512, timeout_seconds: 15 };

/**
 * The size for groups with streams. Behind API Gateway, the response of a stream waits up to `stream.hold_seconds` for an event.
 */
const streamSize = { memory_mb: 512, timeout_seconds: 28 };

export const groups = {
  /** Health checks, and all requests that match no other route: unknown paths, extra slashes, wrong methods. */
  fallback: { routes: ["$default"], ...defaultSize },
  reference: {
    routes: ["GET /openapi.json", "GET /docs", "GET /docs/{proxy+}"],
    ...defaultSize,
    enqueues: false,
    files: [
      { from: "node_modules/swagger-ui-dist/swagger-ui.css", to: "docs/swagger-ui.css" },
      { from: "node_modules/swagger-ui-dist/swagger-ui-bundle.js", to: "docs/swagger-ui-bundle.js" },
    ],
  },
  /** The console's built files. Browsers cache all but some small files, and an open page requests none. */
  console: {
    routes: [
      "GET /",
      "GET /assets/{proxy+}",
      "GET /icons/{proxy+}",
      "GET /service-worker.js",
      "GET /manifest.webmanifest",
      "GET /console/config.json",
    ],
    ...defaultSize,
    enqueues: false,
    files: [{ from: "packages/console/dist", to: "console" }],
  },
  users: { routes: anyMethodBelow("/api/v1/users", "/api/v1/auth"), ...defaultSize },
  audit: { routes: anyMethodBelow("/api/v1/audit"), ...defaultSize, enqueues: false },
  /** Sign-in with AUTH_MODE=accounts. Hashing a password takes memory and CPU time, and Lambda gives more CPU with more memory. */
  accounts: {
    routes: ["ANY /api/auth/{proxy+}", "GET /.well-known/oauth-authorization-server/api/auth"],
    memory_mb: 1024,
    timeout_seconds: 15,
  },
  keys: { routes: anyMethodBelow("/api/v1/keys"), ...defaultSize, enqueues: false },
  organizations: { routes: anyMethodBelow("/organizations", "/api/v1/organizations"), ...defaultSize },
  "custom-fields": {
    routes: anyMethodBelow("/organizations/me/custom-fields", "/api/v1/organizations/me/custom-fields"),
    ...defaultSize,
    enqueues: false,
  },
  tags: { routes: anyMethodBelow("/api/tags", "/api/v1/tags"), ...defaultSize },
  /** These requests wait for hosts: up to 10 s for a probe or a status, up to 23 s for calls that are retried. */
  gateways: { routes: anyMethodBelow("/api/v1/gateways", "/api/v1/gateway"), memory_mb: 512, timeout_seconds: 28 },
  /** A sync writes hundreds of files and hashes new tokens for up to 25 s before it continues in the background. */
  templates: { routes: anyMethodBelow("/api/v1/gateways/{gateway_id}/templates"), memory_mb: 1024, timeout_seconds: 28 },
  boards: { routes: anyMethodBelow("/api/v1/boards"), ...defaultSize },
  "board-groups": { routes: anyMethodBelow("/api/v1/board-groups"), ...defaultSize },
  memory: {
    routes: anyMethodBelow(
      "/api/v1/boards/{board_id}/memory",
      "/api/v1/boards/{board_id}/group-memory",
      "/api/v1/board-groups/{group_id}/memory",
    ),
    ...streamSize,
  },
  onboarding: { routes: anyMethodBelow("/api/v1/boards/{board_id}/onboarding"), ...defaultSize },
  tasks: { routes: anyMethodBelow("/api/v1/tasks", "/api/v1/boards/{board_id}/tasks"), ...streamSize },
  runs: {
    routes: anyMethodBelow("/api/v1/boards/{board_id}/runs", "/api/v1/boards/{board_id}/tasks/{task_id}/runs"),
    ...streamSize,
    reads_bodies: true,
  },
  /**
   * Files of tasks. Clients exchange large ones with the bucket directly, but the completion of an upload reads the whole file.
   */
  artifacts: {
    routes: anyMethodBelow(
      "/api/v1/artifacts",
      "/api/v1/boards/{board_id}/artifacts",
      "/api/v1/boards/{board_id}/tasks/{task_id}/artifacts",
    ),
    memory_mb: 512,
    timeout_seconds: 28,
    enqueues: false,
    stores_files: true,
  },
  /** Decisions from messages, without sign-in. */
  decisions: { routes: ["POST /api/v1/decisions", "ANY /decide", "ANY /unsubscribe"], ...defaultSize },
  /** Receives the signed requests that Slack sends. Slack waits for an answer for at most three seconds. */
  slack: { routes: ["POST /api/v1/slack/interactions", "POST /api/v1/slack/commands"], ...defaultSize },
  approvals: { routes: anyMethodBelow("/api/v1/boards/{board_id}/approvals"), ...streamSize },
  webhooks: {
    routes: anyMethodBelow("/api/v1/webhooks", "/api/v1/boards/{board_id}/webhooks"),
    ...defaultSize,
    reads_bodies: true,
  },
  /** A test message waits up to 15 s for its receiver. */
  subscriptions: {
    routes: anyMethodBelow("/api/v1/subscriptions", "/api/v1/boards/{board_id}/subscriptions"),
    memory_mb: 512,
    timeout_seconds: 20,
  },
  /**
   * Webhook ingestion is public. Its own function has a concurrency limit, so a flood of posts cannot use up the account's
   * concurrency.
   */
  ingest: { routes: ["POST /api/v1/boards/{board_id}/webhooks/{webhook_id}"], ...defaultSize, max_concurrency: 50 },
  jobs: { routes: anyMethodBelow("/api/v1/jobs"), ...defaultSize },
  /** Requests wait for calls to hosts. API Gateway itself times out after 30 s. */
  agents: { routes: anyMethodBelow("/api/v1/agents"), memory_mb: 512, timeout_seconds: 28 },
  /** Requests wait up to 25 s for a host. */
  agent: { routes: anyMethodBelow("/api/v1/agent"), memory_mb: 512, timeout_seconds: 28, reads_bodies: true },
  /** The Model Context Protocol. Its library is large, and a request waits up to 20 s for work in the inbox. */
  mcp: {
    routes: ["ANY /mcp", "GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/mcp"],
    memory_mb: 512,
    timeout_seconds: 28,
    reads_bodies: true,
  },
  activity: { routes: anyMethodBelow("/api/v1/activity", "/api/activity"), ...streamSize },
  changes: { routes: anyMethodBelow("/api/v1/changes"), ...streamSize, enqueues: false },
  metrics: { routes: anyMethodBelow("/api/v1/metrics"), ...defaultSize },
  budgets: { routes: anyMethodBelow("/api/v1/budgets"), ...defaultSize, enqueues: false },
  /** Requests wait for a host, or unpack an archive of several megabytes. */
  skills: { routes: anyMethodBelow("/api/v1/skills", "/api/skills"), memory_mb: 1024, timeout_seconds: 28 },
  /** Requests wait up to 15 s for the remote directory. */
  souls: { routes: anyMethodBelow("/api/v1/souls-directory", "/api/souls-directory"), memory_mb: 512, timeout_seconds: 20 },
} as const satisfies Record<string, ApiGroup>;

/**
 * Routes to which anybody may post. API Gateway gives them a lower throttle (infra/stage.ts). The second route receives posts
 * whose path ends with a slash.
 */
export const webhookRoutes: readonly string[] = [...groups.ingest.routes, "ANY /api/v1/boards/{board_id}/webhooks/{proxy+}"];

/**
 * All streams use a function URL, because API Gateway buffers responses. Each stream occupies a sandbox, so memory is small. A
 * function does not notice that its client has disconnected, so each stream ends early. Its client reconnects without losing an
 * event.
 */
export const stream = {
  memory_mb: 256,
  timeout_seconds: 900,
  max_seconds: 120,
  /** Seconds for which a response behind API Gateway waits for the first event. API Gateway ends requests after 30 s. */
  hold_seconds: 20,
  /** Maximum number of concurrent streams in production, which limits their cost. */
  max_concurrency: 100,
  /** Database connections of a sandbox. It serves one stream, which runs one statement at a time. */
  connections: 1,
} as const;

/**
 * With STREAM_DOMAIN, one container serves all streams instead of the function. A thousand streams take about 65 MB and share
 * their polls (docs/performance.md).
 */
export const streamContainer = {
  cpu: "1 vCPU",
  memory: "2 GB",
  port: 8080,
  connections: 10,
} as const;

/** A queue of job ids, and its consumer. */
export interface Queue {
  /** Messages per invocation. The consumer handles them concurrently. */
  batch_size: number;
  timeout_seconds: number;
  /** Six times the timeout of the consumer, as AWS recommends. */
  visibility_seconds: number;
  max_receives: number;
  /** Maximum number of concurrent batches. */
  max_concurrency: number;
  memory_mb: number;
}

/**
 * Provisioning an agent may take 90 s. A batch occupies its sandbox until its slowest job ends, so batches are small: an
 * organization at the default limit of 16 running jobs occupies less than half of the sandboxes. Smaller batches would cost more
 * (docs/costs.md).
 */
export const deliveries = {
  batch_size: 5,
  timeout_seconds: 120,
  visibility_seconds: 720,
  max_receives: 5,
  max_concurrency: 40,
  memory_mb: 512,
} as const satisfies Queue;

/**
 * Probes of hosts. The probe of an unreachable host takes 5 s, so 200 such hosts, probed every five minutes, occupy less than one
 * sandbox.
 */
export const probes = {
  batch_size: 10,
  timeout_seconds: 30,
  visibility_seconds: 180,
  max_receives: 5,
  max_concurrency: 5,
  memory_mb: 512,
} as const satisfies Queue;

/**
 * Deliveries to subscriptions, whose receivers belong to the tenants. A delivery to a receiver that does not respond takes 15 s. An
 * organization has at most eight such deliveries at a time, which occupy a fifth of the sandboxes.
 */
export const outbound = {
  batch_size: 5,
  timeout_seconds: 60,
  visibility_seconds: 360,
  max_receives: 5,
  max_concurrency: 40,
  memory_mb: 512,
} as const satisfies Queue;

/**
 * Template and skill pack syncs that continue after their request, with the same timeouts as deliveries. The agents of one run
 * share one host's config lock, so a higher concurrency would not help. Rendering and unpacking need more memory.
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
 * Minutes between runs. All schedules run at the same time, so that a suspended database is woken only once. It can sleep in
 * between only if SCHEDULE_MINUTES sets a longer interval (infra/tick.ts).
 */
export const schedules = {
  relay: { every_minutes: 5 },
  lifecycle: { every_minutes: 5 },
  probe: { every_minutes: 5 },
  /** Starts the due syncs of gateways that have a sync interval. */
  sync: { every_minutes: 5 },
  retention: { every_minutes: 60 },
  /** Moves bodies of old payloads to the bucket. Deployed only with WEBHOOK_BODY_BUCKET. */
  bodies: { every_minutes: 5 },
} as const satisfies Record<string, { every_minutes: number }>;

export type ScheduleName = keyof typeof schedules;

/**
 * The function that runs all schedules. A sweep works in batches until nothing is left. The timeout of the function is shorter
 * than the interval.
 */
export const scheduleRunner = { memory_mb: 512, timeout_seconds: 120 } as const;

/**
 * The migration function, which a deployment invokes before new code goes live. The timeout allows for building an index on a large
 * table.
 */
export const migrate = {
  memory_mb: 512,
  timeout_seconds: 300,
  files: [{ from: "migrations", to: "migrations" }],
} as const;
