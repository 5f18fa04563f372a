import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BUDGETS, budgetVariables, limitNames } from "@board/core/config/budgets";
import { Environment } from "@board/core/config/environment";
import { FunctionEnvironment, MigrateEnvironment, StreamEnvironment } from "@board/functions/environment";
import * as z from "zod";

/** `npm run docs:settings` writes docs/settings.md from the schemas of the settings. A test checks that it is up to date. */
const SETTINGS_FILE = fileURLToPath(new URL("../../../docs/settings.md", import.meta.url));

/** Settings that only the deployment reads, from the shell, `.env` or `.env.<stage>`. They have no schema. */
const DEPLOYMENT_SETTINGS = [
  ["ALARM_EMAIL", "none", "Email address that receives the alarms. It must be confirmed once by email."],
  [
    "ACCOUNT_CONCURRENCY",
    "`1000`",
    "Concurrent executions that Lambda allows the account in the region. An alarm is raised at 80 %.",
  ],
  [
    "API_REQUESTS_PER_SECOND",
    "`500` in production, `50` elsewhere",
    "Requests per second that API Gateway admits, twice as many in a burst; each route of public webhooks gets half. Requests above the limit get 429.",
  ],
  ["API_DOMAIN", "none", "Domain of the API. If unset, API Gateway assigns the address."],
  [
    "API_DOMAIN_CERTIFICATE",
    "none",
    "ARN of a certificate for API_DOMAIN in the same region. Required if its DNS is not in Route 53 of this account.",
  ],
  [
    "SCHEDULE_MINUTES",
    "`5`",
    "Minimum number of minutes between scheduled runs: 5, 10, 15, 20, 30 or 60. Neon suspends an idle database after five minutes.",
  ],
  ["WEBHOOK_BODY_BUCKET", "`off`", "`on` creates a bucket and makes it WEBHOOK_BODY_STORAGE. Keep it on while bodies are in it."],
  ["STREAM_DOMAIN", "none", "Domain of the streams. If set, one container serves them instead of a function."],
  [
    "STREAM_DOMAIN_CERTIFICATE",
    "none",
    "ARN of a certificate for STREAM_DOMAIN in the same region. Required if its DNS is not in Route 53 of this account.",
  ],
] as const;

const SECRETS = [
  ["DatabaseUrl", "DATABASE_URL", "The pooled URL (its host has `-pooler`), for all functions."],
  ["DatabaseDirectUrl", "DATABASE_URL of migrations", "The direct URL, without `-pooler`."],
  [
    "EncryptionKey",
    "ENCRYPTION_KEY",
    "`openssl rand -base64 32`. Keep a copy: without it, encrypted secrets cannot be decrypted.",
  ],
  ["TokenPepper", "TOKEN_PEPPER", "`openssl rand -base64 32`. Keep a copy: without it, every agent needs a new token."],
  ["SmtpUrl", "SMTP_URL", "With MAIL_FROM only."],
  ["GithubClientSecret", "GITHUB_CLIENT_SECRET", "With GITHUB_CLIENT_ID only."],
  ["GoogleClientSecret", "GOOGLE_CLIENT_SECRET", "With GOOGLE_CLIENT_ID only."],
  ["LocalAuthToken", "LOCAL_AUTH_TOKEN", "`openssl rand -base64 48`. With AUTH_MODE=local only."],
] as const;

const NONE = "none";

function ruleOf(schema: z.ZodType): string {
  const meta = schema.meta() as { rule?: string } | undefined;
  if (meta?.rule) return meta.rule;
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => `\`${option}\``).join(", ");
  const { innerType } = schema.def as { innerType?: z.ZodType };
  return innerType ? ruleOf(innerType) : "text";
}

function defaultOf(schema: z.ZodType): string {
  const parsed = schema.safeParse(undefined);
  if (!parsed.success) return "required";
  const value = parsed.data as string | number | object | null | undefined;
  const isEmpty = typeof value === "object" && Object.keys(value ?? {}).length === 0;
  return value === undefined || isEmpty ? NONE : `\`${String(value)}\``;
}

const isSecret = (schema: z.ZodType) => (schema.meta() as { secret?: boolean } | undefined)?.secret === true;

const escapeCell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const rowsOf = (object: z.ZodObject, moreCells: (name: string) => string[] = () => []) =>
  Object.entries(object.shape as Record<string, z.ZodType>).map(([name, schema]) => [
    `\`${name}\``,
    defaultOf(schema),
    ruleOf(schema),
    `${schema.description ?? ""}${isSecret(schema) ? " Secret." : ""}`,
    ...moreCells(name),
  ]);

function limitRow(name: (typeof limitNames)[number]): string[] {
  const { default: fallback, max, describe, ...rest } = BUDGETS[name];
  return [`\`${name}\``, String(fallback), String("min" in rest ? rest.min : 0), String(max), describe];
}

/**
 * Returns the settings that a deployment passes on unchanged. The list is parsed from the source, because only SST can load infra.
 */
function forwardedSettings(): ReadonlySet<string> {
  const text = readFileSync(new URL("../../../infra/environment.ts", import.meta.url), "utf8");
  const list = text.split("const OPTIONAL = [", 2)[1]?.split("]", 1)[0] ?? "";
  return new Set([...budgetVariables, ...[...list.matchAll(/"([A-Z_]+)"/g)].map((match) => match[1]!)]);
}

/** Settings that the deployment sets itself. BASE_URL is passed on if it is set. */
const PROVIDED_BY_DEPLOYMENT: Readonly<Record<string, string>> = {
  BASE_URL: "passed on, else the address of the API",
  STREAM_URL: "set by the deployment",
  DATABASE_URL: "secret `DatabaseUrl`",
  LOCAL_AUTH_TOKEN: "secret `LocalAuthToken`",
  SMTP_URL: "secret `SmtpUrl`",
  GITHUB_CLIENT_SECRET: "secret `GithubClientSecret`",
  GOOGLE_CLIENT_SECRET: "secret `GoogleClientSecret`",
  ENCRYPTION_KEY: "secret `EncryptionKey`",
  TOKEN_PEPPER: "secret `TokenPepper`",
};

/** Renders docs/settings.md. */
export function renderSettings(): string {
  const forwarded = forwardedSettings();
  const onAws = (name: string) => [PROVIDED_BY_DEPLOYMENT[name] ?? (forwarded.has(name) ? "passed on" : "not used")];
  const head = ["Name", "Default", "Rule", "Meaning"];
  return `# Settings

Generated by \`npm run docs:settings\` from the schemas in \`packages/core/src/config/environment.ts\` and
\`packages/functions/src/environment.ts\`. Do not edit it.

Settings are environment variables. A blank value counts as unset, and surrounding whitespace is removed. An invalid or
missing setting stops the start with a line that names it and its rule, but never its value. \`npm run doctor\` lists all
invalid settings at once.

## The service

The local server (\`npm start\`) reads all of these from its environment. On AWS the functions get them from the deployment:
*passed on* means that \`npm run deploy\` takes the value from the shell, \`.env\` or \`.env.<stage>\` when it is set there.

${table([...head, "On AWS"], rowsOf(Environment, onAws))}

## Limits

\`LIMITS\` changes any of these, such as \`LIMITS=running_requests=64,max_connections=500\`. The defaults suit a service of thousands
of agents; few operators change one.

${table(["Limit", "Default", "From", "To", "Meaning"], limitNames.map(limitRow))}

## The functions on AWS

The deployment sets these for the functions. Only \`STREAM_MAX_SECONDS\` may be set by hand; it is passed on.

All functions except the migration:

${table(head, rowsOf(FunctionEnvironment))}

The stream function in addition:

${table(head, rowsOf(StreamEnvironment))}

The migration reads only these:

${table(head, rowsOf(MigrateEnvironment))}

## The deployment

\`npm run deploy\` creates everything in the region of \`AWS_REGION\` (\`us-east-1\` when unset), which should be that of the database.
It reads these in addition to the settings that it passes on:

${table(
  ["Name", "Default", "Meaning"],
  DEPLOYMENT_SETTINGS.map(([name, fallback, meaning]) => [`\`${name}\``, fallback, meaning]),
)}

SST stores the secrets of each stage; [deploying.md](deploying.md) shows how to set them.

${table(
  ["Secret", "Becomes", "Value"],
  SECRETS.map(([name, becomes, meaning]) => [`\`${name}\``, becomes, meaning]),
)}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(SETTINGS_FILE, renderSettings());
