import type * as z from "zod";

export type Variables = Readonly<Record<string, string | undefined>>;

/** Lists the missing settings that other settings require. */
export function listMissing({ AUTH_MODE, DATABASE_DRIVER, ...env }: Record<string, string>, edge: "local" | "lambda"): string[] {
  const problems: string[] = [];
  if (edge === "lambda" && !env["DATABASE_URL"]) problems.push("DATABASE_URL is required");
  else if (DATABASE_DRIVER && DATABASE_DRIVER !== "pglite" && !env["DATABASE_URL"])
    problems.push(`DATABASE_URL is required with DATABASE_DRIVER=${DATABASE_DRIVER}`);
  if (edge === "lambda" && env["WEBHOOK_BODY_STORAGE"] && !env["WEBHOOK_BODY_STORAGE"].startsWith("s3://"))
    problems.push("WEBHOOK_BODY_STORAGE must be s3://bucket/prefix on Lambda, whose folders are not kept");
  if ((AUTH_MODE ?? "local") === "local" && !env["LOCAL_AUTH_TOKEN"])
    problems.push("LOCAL_AUTH_TOKEN is required with AUTH_MODE=local");
  if (env["SMTP_URL"] && !env["MAIL_FROM"]) problems.push("MAIL_FROM is required with SMTP_URL");
  if (AUTH_MODE === "oidc" && !env["OIDC_ISSUER"]) problems.push("OIDC_ISSUER is required with AUTH_MODE=oidc");
  return problems;
}

/** Removes blank values, because they are treated as unset. */
export const withoutBlanks = (environment: Variables) =>
  Object.fromEntries(Object.entries(environment).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])));

/** Returns one line with the name of the setting and its rule, but never its value. */
export function toProblem(issue: z.core.$ZodIssue, variables: Record<string, string>): string {
  const missing = issue.code === "invalid_type" && !(String(issue.path[0]) in variables);
  const allowed = issue.code === "invalid_value" ? `must be one of ${issue.values.join(", ")}` : issue.message;
  return `${String(issue.path[0])} ${missing ? "is required" : allowed}`;
}
