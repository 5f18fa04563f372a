import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Environment } from "@board/core/settings";
import { Edge, MigrateEdge, StreamEdge } from "@board/functions/environment";
import * as z from "zod";

/** `npm run docs:settings`: writes docs/settings.md from the schemas that read the settings. A test holds the two together. */
const FILE = fileURLToPath(new URL("../../../docs/settings.md", import.meta.url));

/** What the deployment alone reads, from the shell, `.env` or `.env.<stage>`. It runs outside of Node, so that no schema can be asked. */
const DEPLOYMENT = [
  ["AWS_REGION", "`us-east-1`", "Region of everything. Take the one the database is in."],
  ["ALARM_EMAIL", "none", "Who gets the alarms; confirms once by mail."],
  ["API_DOMAIN", "none", "Domain of the API. Without it the address is the one that API Gateway gives."],
  [
    "API_DOMAIN_CERTIFICATE",
    "none",
    "ARN of a certificate for API_DOMAIN, in the same region, when its DNS is not in Route 53 of this account.",
  ],
  [
    "SCHEDULE_MINUTES",
    "`5`",
    "Least minutes between scheduled runs: 5, 10, 15, 20, 30 or 60. An idle Neon database sleeps after five minutes.",
  ],
] as const;

const SECRETS = [
  ["DatabaseUrl", "DATABASE_URL", "The pooled URL (its host has `-pooler`), for all functions."],
  ["DatabaseDirectUrl", "DATABASE_URL of migrations", "The direct URL, without `-pooler`."],
  ["EncryptionKey", "ENCRYPTION_KEY", "`openssl rand -base64 32`. Keep a copy: without it nothing that it sealed can be opened."],
  ["TokenPepper", "TOKEN_PEPPER", "`openssl rand -base64 32`. Keep a copy: without it every agent needs a new token."],
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
  const value = parsed.data as string | number | readonly string[] | null | undefined;
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0) ? NONE : `\`${String(value)}\``;
}

const isSecret = (schema: z.ZodType) => (schema.meta() as { secret?: boolean } | undefined)?.secret === true;

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const rowsOf = (schema: z.ZodObject, more: (name: string) => string[] = () => []) =>
  Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, one]) => [
    `\`${name}\``,
    defaultOf(one),
    ruleOf(one),
    `${one.description ?? ""}${isSecret(one) ? " Secret." : ""}`,
    ...more(name),
  ]);

/** Settings that a deployment hands on as they are: infra loads only inside of SST, so that its list is read as text. */
function handedOn(): ReadonlySet<string> {
  const text = readFileSync(new URL("../../../infra/environment.ts", import.meta.url), "utf8");
  const list = /const OPTIONAL = \[([^\]]*)\]/.exec(text)?.[1] ?? "";
  return new Set([...list.matchAll(/"([A-Z_]+)"/g)].map((match) => match[1]!));
}

/** Given by the deployment itself; BASE_URL, which is also handed on, only when it is not set. */
const DERIVED: Readonly<Record<string, string>> = {
  BASE_URL: "handed on, else the API's own",
  STREAM_URL: "given by the deployment",
  DATABASE_URL: "secret `DatabaseUrl`",
  LOCAL_AUTH_TOKEN: "secret `LocalAuthToken`",
  ENCRYPTION_KEY: "secret `EncryptionKey`",
  TOKEN_PEPPER: "secret `TokenPepper`",
};

/** The text of docs/settings.md. */
export function renderSettings(): string {
  const handed = handedOn();
  const onAws = (name: string) => [DERIVED[name] ?? (handed.has(name) ? "handed on" : "not used")];
  const head = ["Name", "Default", "Rule", "Meaning"];
  return `# Settings

Made by \`npm run docs:settings\` from the schemas in \`packages/core/src/settings.ts\` and
\`packages/functions/src/environment.ts\`. Do not edit it.

Settings are environment variables. Blank counts as unset, and space around a value is cut off. A wrong or missing setting
stops the start with a line that names it and its rule, and never shows the value. \`npm run doctor\` names all wrong ones
at once.

## The service

The local server (\`npm start\`) reads all of these from its environment. On AWS the functions get them from the deployment:
*handed on* means that \`npm run deploy\` takes the value from the shell, \`.env\` or \`.env.<stage>\` when it is set there.

${table([...head, "On AWS"], rowsOf(Environment, onAws))}

## The functions on AWS

The deployment gives these to the functions; nobody sets them by hand but \`STREAM_MAX_SECONDS\`, which is handed on.

All functions but the migration:

${table(head, rowsOf(Edge))}

The stream function also:

${table(head, rowsOf(StreamEdge))}

The migration reads these alone:

${table(head, rowsOf(MigrateEdge))}

## The deployment

\`npm run deploy\` reads these beside what it hands on:

${table(
  ["Name", "Default", "Meaning"],
  DEPLOYMENT.map(([name, fallback, meaning]) => [`\`${name}\``, fallback, meaning]),
)}

Secrets are kept by SST for each stage; [deploying.md](deploying.md) shows how they are set.

${table(
  ["Secret", "Becomes", "Value"],
  SECRETS.map(([name, becomes, meaning]) => [`\`${name}\``, becomes, meaning]),
)}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, renderSettings());
