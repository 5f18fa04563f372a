import type { Webhook } from "@board/core/webhook/webhook";
import type { WebhookPayload } from "@board/core/webhook/payload";
import type { Answer } from "./http.ts";
import { onLambda } from "./target.ts";
import type { Tenant, World } from "./world.ts";

/** A webhook on the tenant's board, for its lead unless `body` says otherwise. */
export async function createWebhook(world: World, tenant: Tenant, body: object = {}): Promise<Webhook> {
  const path = `/api/v1/boards/${tenant.board_id}/webhooks`;
  const made = await world.call("POST", path, { token: tenant.owner.token, body: { description: "Sort it", ...body } });
  if (made.status !== 200) throw new Error(`${path}: ${made.status} ${made.text}`);
  return made.body;
}

/** Posts bytes as an outside system does. A body of text goes out as bytes too, so that no Content-Type is made up. */
export function post(
  world: World,
  webhook: Webhook,
  body: string | Uint8Array = "{}",
  headers: Record<string, string> = {},
): Promise<Answer> {
  return world.call("POST", webhook.endpoint_path, { raw: Buffer.from(body), headers });
}

/** Posts what must be accepted; returns the payload's id. */
export async function deposit(
  world: World,
  webhook: Webhook,
  body?: string | Uint8Array,
  headers?: Record<string, string>,
): Promise<string> {
  const answer = await post(world, webhook, body, headers);
  if (answer.status !== 202) throw new Error(`${webhook.endpoint_path}: ${answer.status} ${answer.text}`);
  return answer.body.payload_id;
}

/** A stored payload, as the board's owner reads it. */
export async function readPayload(
  world: World,
  tenant: Tenant,
  webhook: Webhook,
  id: string,
): Promise<WebhookPayload & { answer: Answer }> {
  const answer = await world.call("GET", `${webhook.endpoint_path}/payloads/${id}`, { token: tenant.owner.token });
  return { ...answer.body, headers: sentHeaders((answer.body as WebhookPayload).headers), answer };
}

/** Of a payload's headers those that its sender sent: API Gateway adds some, which are kept like any that begin with x-. */
export function sentHeaders(kept: Record<string, string>): Record<string, string> {
  if (!onLambda) return kept;
  const { "x-forwarded-for": hops = "", ...headers } = kept;
  const sent = hops.split(", ").slice(0, -1).join(", ");
  const own = ["x-amzn-trace-id", "x-forwarded-port", "x-forwarded-proto"];
  const rest = Object.fromEntries(Object.entries(headers).filter(([name]) => !own.includes(name)));
  return sent === "" ? rest : { "x-forwarded-for": sent, ...rest };
}
