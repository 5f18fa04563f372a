import type { Webhook } from "@board/core/webhook/webhook";
import type { WebhookPayload } from "@board/core/webhook/payload";
import type { Answer } from "./http.ts";
import { onLambda } from "./target.ts";
import type { Tenant, World } from "./world.ts";

/** Creates a webhook on the tenant's board, for its lead unless `body` names an agent. */
export async function createWebhook(world: World, tenant: Tenant, body: object = {}): Promise<Webhook> {
  const path = `/api/v1/boards/${tenant.board_id}/webhooks`;
  const created = await world.call("POST", path, { token: tenant.owner.token, body: { description: "Sort it", ...body } });
  if (created.status !== 200) throw new Error(`${path}: ${created.status} ${created.text}`);
  return created.body;
}

/** Posts as an external system. A text is sent as bytes, so that fetch adds no Content-Type. */
export function post(
  world: World,
  webhook: Webhook,
  body: string | Uint8Array = "{}",
  headers: Record<string, string> = {},
): Promise<Answer> {
  return world.call("POST", webhook.endpoint_path, { raw: Buffer.from(body), headers });
}

/** Posts a payload, returns its id, and throws when it is refused. */
export async function postPayload(
  world: World,
  webhook: Webhook,
  body?: string | Uint8Array,
  headers?: Record<string, string>,
): Promise<string> {
  const answer = await post(world, webhook, body, headers);
  if (answer.status !== 202) throw new Error(`${webhook.endpoint_path}: ${answer.status} ${answer.text}`);
  return answer.body.payload_id;
}

/** Reads a stored payload as the board's owner. */
export async function readPayload(
  world: World,
  tenant: Tenant,
  webhook: Webhook,
  id: string,
): Promise<WebhookPayload & { answer: Answer }> {
  const answer = await world.call("GET", `${webhook.endpoint_path}/payloads/${id}`, { token: tenant.owner.token });
  return { ...answer.body, headers: sentHeaders((answer.body as WebhookPayload).headers), answer };
}

/** Returns the headers that the sender sent, without the X- headers that API Gateway adds. */
export function sentHeaders(stored: Record<string, string>): Record<string, string> {
  if (!onLambda) return stored;
  const { "x-forwarded-for": hops = "", ...headers } = stored;
  const sent = hops.split(", ").slice(0, -1).join(", ");
  const added = ["x-amzn-trace-id", "x-forwarded-port", "x-forwarded-proto"];
  const rest = Object.fromEntries(Object.entries(headers).filter(([name]) => !added.includes(name)));
  return sent === "" ? rest : { "x-forwarded-for": sent, ...rest };
}
