import * as z from "zod";
import type { Context } from "../context/context.ts";
import { FetchError, type FetchLimits, readBody, retryAfterMs } from "../context/http-client.ts";
import { ExpectedFailure } from "../values/errors.ts";
import { truncate } from "../values/text.ts";

const API = "https://slack.com/api";
const LIMITS: FetchLimits = { connect_ms: 5_000, total_ms: 8_000, max_bytes: 200_000 };
const TOO_MANY = 429;
const MAX_ERROR = 100;

/** Errors that concern the whole app. An admin must solve the problem, so all messages of the app wait. */
const APP_ERRORS: ReadonlySet<string> = new Set([
  "access_denied",
  "account_inactive",
  "app_missing_action_url",
  "ekm_access_denied",
  "invalid_auth",
  "missing_scope",
  "no_permission",
  "not_allowed_token_type",
  "not_authed",
  "org_login_required",
  "team_access_not_granted",
  "team_not_found",
  "token_expired",
  "token_revoked",
]);
/** Temporary errors: a later call may succeed. */
const PASSING_ERRORS: ReadonlySet<string> = new Set(["fatal_error", "internal_error", "request_timeout", "service_unavailable"]);

type Scope = "message" | "app" | "busy" | "passing";

/** Thrown when Slack did not accept a call. */
export class SlackError extends ExpectedFailure {
  override name = "SlackError";
  readonly #scope: Scope;
  readonly #retry_after_ms: number | null;
  constructor(message: string, scope: Scope, retry_after_ms: number | null = null) {
    super(message);
    this.#scope = scope;
    this.#retry_after_ms = retry_after_ms;
  }

  override get retry_after_ms(): number | null {
    return this.#retry_after_ms;
  }

  override get is_transient(): boolean {
    return this.#scope !== "message";
  }

  /** True if other messages of the app would fail as well. */
  override get is_unreachable(): boolean {
    return this.#scope === "app" || this.#scope === "passing";
  }

  override get is_waiting(): boolean {
    return this.#scope === "busy";
  }
}

const Result = z.object({ ok: z.boolean(), error: z.string().max(1_000).optional() });

interface Call {
  organization_id: string;
  token: string;
  body: object;
}

/** Calls a method of Slack's Web API. Throws a `SlackError` unless it succeeded. */
export async function callSlack(ctx: Context, method: string, { organization_id, token, body }: Call): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json; charset=utf-8" };
  const { status, text } = await post(ctx, `${API}/${method}`, { headers, organization_id, body });
  const result = status === 200 ? parse(text) : undefined;
  const { ok, error = `status ${status}` } = Result.safeParse(result).data ?? { ok: false };
  if (ok) return result;
  const scope = APP_ERRORS.has(error) ? "app" : PASSING_ERRORS.has(error) || status !== 200 ? "passing" : "message";
  throw new SlackError(`Slack answered ${truncate(error.replace(/[^\w ]/g, ""), MAX_ERROR)}.`, scope);
}

/** Sends an answer to the address that came with a signed request of Slack. The address accepts 5 answers within 30 minutes. */
export async function answerByUrl(ctx: Context, url: string, organization_id: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json; charset=utf-8" };
  const { status } = await post(ctx, url, { headers, organization_id, body });
  if (status !== 200) throw new SlackError(`Slack answered status ${status}.`, status >= 500 ? "passing" : "message");
}

interface Post {
  headers: Record<string, string>;
  organization_id: string;
  body: object;
}

async function post(ctx: Context, url: string, { headers, organization_id, body }: Post) {
  try {
    const response = await ctx.http.post(url, { headers, body: JSON.stringify(body), organization_id }, LIMITS);
    const text = Buffer.from(await readBody(response)).toString("utf8");
    if (response.status === TOO_MANY) throw new SlackError("Slack asks to wait.", "busy", retryAfterMs(response));
    return { status: response.status, text };
  } catch (error) {
    if (error instanceof FetchError) throw new SlackError(`${error.message}.`, "passing");
    throw error;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
