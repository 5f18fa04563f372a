import type { ToldUsage } from "@board/core/usage/host-usage";
import { asRecord } from "../wire/frame.ts";

type Session = NonNullable<ToldUsage["session"]>;
type ModelUsage = Session["models"][number];

const MAX_MODELS = 50;
const MAX_NAME = 100;
/** No session uses this much. A larger number is an error of the host, so the number is limited before it is added to a sum. */
const MAX_TOKENS = 1_000_000_000;
const MAX_COST = 1_000_000;

/**
 * Parses the response to sessions.usage for one session. Newer hosts may first answer with an earlier count while they are still
 * counting.
 */
export function toToldUsage(payload: unknown, key: string): ToldUsage {
  const status = asRecord(asRecord(payload)?.["cacheStatus"])?.["status"];
  return { session: toSession(payload, key), is_counting: status !== undefined && status !== "fresh" };
}

function toSession(payload: unknown, key: string): Session | null {
  const sessions = asRecord(payload)?.["sessions"];
  if (!Array.isArray(sessions)) return null;
  const session = sessions.map(asRecord).find((entry) => entry?.["key"] === key);
  const usage = asRecord(session?.["usage"]);
  const session_id = session?.["sessionId"];
  if (!usage || typeof session_id !== "string" || session_id === "" || session_id.length > MAX_NAME) return null;
  const listed = Array.isArray(usage["modelUsage"]) ? usage["modelUsage"].slice(0, MAX_MODELS).map(asRecord) : [];
  const models = new Map<string, ModelUsage>();
  for (const entry of listed.length > 0 ? listed : [{ totals: usage }]) {
    const told = toModelUsage(typeof entry?.["model"] === "string" ? entry["model"] : "", asRecord(entry?.["totals"]) ?? {});
    models.set(told.model, addUp(told, models.get(told.model)));
  }
  return { id: session_id, models: [...models.values()] };
}

/** Adds up the input tokens, because hosts count cache reads and cache writes separately from the other input. */
function toModelUsage(name: string, totals: Record<string, unknown>): ModelUsage {
  const tokens = (field: string) => Math.trunc(toNumber(totals[field], MAX_TOKENS));
  const cached_input_tokens = tokens("cacheRead");
  return {
    model: name.replaceAll(/\p{C}/gu, "").trim().slice(0, MAX_NAME).toWellFormed(),
    input_tokens: Math.min(MAX_TOKENS, tokens("input") + cached_input_tokens + tokens("cacheWrite")),
    output_tokens: tokens("output"),
    cached_input_tokens,
    cost: toNumber(totals["totalCost"], MAX_COST),
  };
}

/** Adds up the usage of a model that appears twice, because two providers offer it. */
const addUp = (one: ModelUsage, other: ModelUsage | undefined): ModelUsage => ({
  model: one.model,
  input_tokens: Math.min(MAX_TOKENS, one.input_tokens + (other?.input_tokens ?? 0)),
  output_tokens: Math.min(MAX_TOKENS, one.output_tokens + (other?.output_tokens ?? 0)),
  cached_input_tokens: Math.min(MAX_TOKENS, one.cached_input_tokens + (other?.cached_input_tokens ?? 0)),
  cost: one.cost + (other?.cost ?? 0),
});

const toNumber = (value: unknown, max: number): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.min(value, max) : 0;
