/**
 * How much of the service one tenant, client, host or answer may use. Code reads this from `ctx.settings.budgets`. Above a budget,
 * clients get a 429 or an error that names the budget. This file has no imports, because infra reads it.
 */
export const BUDGETS = {
  webhook_max_payload_bytes: {
    default: 1_048_576,
    max: 10_485_760,
    describe: "Maximum size of a webhook payload in bytes.",
  },
  webhook_rate_per_minute: {
    default: 600,
    max: 1_000_000_000,
    describe: "Posts per webhook and clock minute, 0 = no limit. If the webhook has a secret, only correctly signed posts count.",
  },
  webhook_refusals_per_minute: {
    default: 60,
    max: 1_000_000_000,
    describe: "Refused posts per signed webhook, client address and clock minute, 0 = no limit.",
  },
  webhook_total_refusals_per_minute: {
    default: 1_200,
    max: 1_000_000_000,
    describe:
      "Refused posts per signed webhook and clock minute; above it, addresses that were refused before get 429. 0 = no limit.",
  },
  organization_payload_bytes: {
    default: 1_073_741_824,
    max: 500_000_000_000,
    describe: "Bytes of webhook payloads that are stored for an organization, 0 = no limit.",
  },
  organization_idempotency_bytes: {
    default: 67_108_864,
    max: 500_000_000_000,
    describe: "Bytes of answers that are stored for an organization's requests with Idempotency-Key, 0 = no limit.",
  },
  organization_text_bytes: {
    default: 4_294_967_296,
    max: 500_000_000_000,
    describe:
      "Bytes of texts that members and agents store in an organization, such as tasks, comments and memory, plus 200 per row, 0 = no limit. The texts never expire, so the limit must suffice for years.",
  },
  artifact_max_bytes: {
    default: 26_214_400,
    max: 1_073_741_824,
    describe: "Maximum size of a file of a task in bytes.",
  },
  organization_artifact_bytes: {
    default: 5_368_709_120,
    max: 500_000_000_000_000,
    describe: "Bytes of files that are stored for the tasks of an organization, 0 = no limit.",
  },
  auth_failures_per_minute: {
    default: 20,
    max: 1_000_000_000,
    describe: "Failed authentications per client address and clock minute, 0 = no limit.",
  },
  caller_running_requests: {
    default: 8,
    max: 1_000_000,
    describe: "Requests of one credential that a process works on at a time, 0 = no limit. Open streams do not count.",
  },
  caller_waiting_requests: {
    default: 1_000,
    max: 1_000_000,
    describe:
      "Requests of one credential, of one organization, and from one address without a credential, that may wait in a process. The next one gets 429.",
  },
  organization_running_requests: {
    default: 8,
    max: 1_000_000,
    describe:
      "Requests of one organization, and from one address without a credential, that a process works on at a time, 0 = no limit. It keeps one organization from using up the database and the memory for large answers.",
  },
  running_requests: {
    default: 32,
    max: 1_000_000,
    describe:
      "Requests that a process works on at a time, 0 = no limit. Organizations take turns, so it is also the number of running requests that a new request may have to wait for.",
  },
  waiting_requests: {
    default: 4_000,
    max: 1_000_000,
    describe:
      "Requests that may wait in a process, 0 = no limit. The next one gets 503, unless no other request of its organization is waiting. Each holds about 5 KB.",
  },
  connection_waiting_requests: {
    default: 1_000,
    max: 100_000,
    describe:
      "Requests that a client of the local server may send on one connection without waiting for the answers, which come one after the other. The next one closes the connection. 0 = no limit.",
  },
  organization_answer_bytes_per_second: {
    default: 67_108_864,
    max: 500_000_000_000,
    describe:
      "Bytes of answers per second that a process creates for an organization, averaged over two seconds; above it, the next requests of the organization wait. 0 = no limit. Creating the answer is the most expensive part of a read.",
  },
  organization_lookups: {
    default: 4,
    max: 1_000,
    describe: "Host names of an organization's gateways that one process looks up at a time, 0 = no limit.",
  },
  streams_per_caller: {
    default: 200,
    default_in_functions: 10,
    max: 100_000,
    describe:
      "Open streams of a user or agent, 0 = no limit. In local mode everybody is one user, and a page of a dashboard opens three per board; in functions, where each stream costs money, the default is 10.",
  },
  streams_per_organization: {
    default: 1_000,
    default_in_functions: 50,
    max: 100_000,
    describe:
      "Open streams on the rows of an organization, 0 = no limit. In functions, where each stream costs money, the default is 50.",
  },
  inbox_waits_per_organization: {
    default: 500,
    max: 100_000,
    describe:
      "Requests of an organization's agents that wait for work, 0 = no limit. They are counted over all processes on a PostgreSQL server; in functions, in each process.",
  },
  agent_file_max_chars: {
    default: 400_000,
    max: 5_000_000,
    describe: "Maximum number of characters of one file that is rendered for an agent. Hosts cut files at 20,000.",
  },
  agent_files_max_chars: {
    default: 1_000_000,
    max: 10_000_000,
    describe: "Maximum number of characters of all files that are rendered for an agent.",
  },
  organization_running_jobs: {
    default: 16,
    max: 1_000,
    describe: "Jobs of an organization that run at the same time, 0 = no limit. Syncs are counted separately.",
  },
  gateway_running_jobs: {
    default: 8,
    max: 1_000,
    describe: "Jobs of a gateway that run at the same time, 0 = no limit. Syncs are counted separately.",
  },
  organizations_per_day: {
    default: 20,
    max: 1_000_000_000,
    describe: "Organizations that a person may create in a day (UTC), 0 = no limit. Each has its own budgets.",
  },
  organization_invite_mails_per_day: {
    default: 200,
    max: 1_000_000_000,
    describe: "Invites that are sent by mail for an organization in a day (UTC), 0 = no limit. Removed invites count.",
  },
  organization_usage_entries_per_day: {
    default: 500_000,
    max: 1_000_000_000,
    describe:
      "Usage entries that the agents of an organization may report in a day (UTC), 0 = no limit. Each takes 300 bytes for a week.",
  },
  organization_running_deliveries: {
    default: 48,
    max: 1_000,
    describe: "Deliveries to an organization's subscriptions that run at the same time, 0 = no limit.",
  },
  organization_subscriptions: {
    default: 50,
    max: 1_000,
    describe: "Outbound subscriptions of an organization and its boards.",
  },
  subscription_deliveries: {
    min: 100,
    default: 10_000,
    max: 10_000_000,
    describe: "Finished deliveries of a subscription that are kept; older ones are removed once an hour.",
  },
  subscription_tests_per_minute: {
    default: 30,
    max: 1_000_000_000,
    describe: "Test messages of an organization per clock minute, 0 = no limit.",
  },
  channel_tests_per_minute: {
    default: 10,
    max: 1_000_000_000,
    describe: "Test messages of a person per clock minute, 0 = no limit.",
  },
  answer_max_bytes: {
    min: 1_000_000,
    default: 4_000_000,
    max: 5_500_000,
    describe:
      "Maximum size of an answer in bytes; larger answers are shortened, and show that they were. A Lambda cannot return more than 6 MB.",
  },
  onboarding_max_bytes: {
    min: 1_000_000,
    default: 2_000_000,
    max: 4_000_000,
    describe: "Maximum number of bytes of all messages of an onboarding session. Above it, no message is accepted.",
  },
  request_body_bytes: {
    default: 67_108_864,
    max: 500_000_000_000,
    describe: "Memory of a process for request bodies in bytes, 0 = no limit.",
  },
  request_body_bytes_per_address: {
    default: 33_554_432,
    max: 500_000_000_000,
    describe: "The part of request_body_bytes that one client address may use, 0 = no limit.",
  },
  request_body_seconds: {
    default: 30,
    max: 3_600,
    describe: "Time in which a request body must arrive, 0 = no limit.",
  },
  request_body_bytes_per_second: {
    default: 1_024,
    max: 1_000_000_000,
    describe: "Minimum speed of a request body in bytes per second, measured over five seconds, 0 = any.",
  },
  max_connections: {
    default: 10_000,
    max: 1_000_000,
    describe: "Open connections of the local server, 0 = no limit.",
  },
  max_connections_per_address: {
    default: 2_000,
    max: 1_000_000,
    describe: "Open connections of the local server from one address that is not a trusted proxy, 0 = no limit.",
  },
} as const satisfies Record<string, Budget>;

interface Budget {
  /** The minimum; 0 by default. */
  min?: number;
  default: number;
  /** The default in Lambda functions, if it is different there. A function serves one request at a time. */
  default_in_functions?: number;
  max: number;
  /** The description in docs/settings.md. */
  describe: string;
}

export type BudgetName = keyof typeof BUDGETS;
export type Budgets = Readonly<Record<BudgetName, number>>;

export const budgetNames = Object.keys(BUDGETS) as BudgetName[];

/**
 * Budgets that have their own environment variable (the name in upper case), because operators tune them. All others are set in
 * LIMITS.
 */
export const ownSettings = [
  "webhook_max_payload_bytes",
  "webhook_rate_per_minute",
  "artifact_max_bytes",
  "auth_failures_per_minute",
  "streams_per_caller",
  "streams_per_organization",
] as const satisfies BudgetName[];
export type OwnSetting = (typeof ownSettings)[number];

const isOwn = (name: BudgetName): name is OwnSetting => (ownSettings as readonly BudgetName[]).includes(name);

export const limitNames = budgetNames.filter((name) => !isOwn(name));
/** The environment variables of all budgets. */
export const budgetVariables = [...ownSettings.map((name) => name.toUpperCase()), "LIMITS"];

export const DEFAULT_BUDGETS = Object.fromEntries(budgetNames.map((name) => [name, BUDGETS[name].default])) as Budgets;
