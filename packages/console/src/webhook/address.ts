import { api } from "../api.ts";
import type { Webhook } from "../types.ts";
import { showInfo } from "../ui/toast.tsx";

const TEST_PAYLOAD = { event: "test", message: "Sent by the console" };
export const LIST = "/api/v1/boards/{board_id}/webhooks";
export const ITEM = "/api/v1/boards/{board_id}/webhooks/{webhook_id}";

export const pathOf = ({ board_id, id }: Webhook) => ({ params: { path: { board_id, webhook_id: id } } });

export const addressOf = ({ endpoint_path }: Pick<Webhook, "endpoint_path">): string => `${location.origin}${endpoint_path}`;

/** Quotes a text for a shell. The name of a header may contain characters that a shell would run as a command. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const toCurl = (webhook: Webhook): string =>
  webhook.has_secret
    ? `BODY='${JSON.stringify(TEST_PAYLOAD)}'\nSIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //')\ncurl -s ${addressOf(webhook)} -H "Content-Type: application/json" -H ${quote(`${webhook.signature_header ?? "X-Hub-Signature-256"}: sha256=`)}"$SIGNATURE" -d "$BODY"`
    : `curl -s ${addressOf(webhook)} -H "Content-Type: application/json" -d '${JSON.stringify(TEST_PAYLOAD)}'`;

/** Posts to a webhook as another system would. */
export async function sendTest(webhook: Webhook): Promise<void> {
  await api.post(ITEM, { ...pathOf(webhook), body: TEST_PAYLOAD as never });
  showInfo("The test payload was accepted.");
}
