import { api, isStatus } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Payload } from "../types.ts";
import { Time } from "../ui/time.tsx";

const PAYLOAD_ID = /payloads?[\s:/]+([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})/i;
/** The text of a task names a payload but not its webhook, so the payload is looked up in this many webhooks of the board. */
const MAX_WEBHOOKS = 10;

type Origin = Pick<Payload, "payload" | "event_type" | "received_at">;

async function findPayload(board_id: string, payload_id: string, signal: AbortSignal): Promise<Origin | null> {
  const query = { limit: MAX_WEBHOOKS };
  const { items } = await api.get("/api/v1/boards/{board_id}/webhooks", { params: { path: { board_id }, query }, signal });
  const found = await Promise.all(
    items.map(({ id: webhook_id }) => {
      const path = { board_id, webhook_id, payload_id };
      return api
        .get("/api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}", { params: { path }, signal })
        .catch((error: unknown) => {
          if (isStatus(error, 404)) return null;
          throw error;
        });
    }),
  );
  return found.find((payload) => payload !== null) ?? null;
}

/** Shows the webhook payload whose id the description contains. Agents that create tasks from payloads write it there. */
export function Origin({ board_id, text, mayWrite }: { board_id: string; text: string; mayWrite: boolean }) {
  const payload_id = PAYLOAD_ID.exec(text)?.[1];
  // Only members with write access may list webhooks, because the list contains the addresses that accept posts.
  const read = async (signal: AbortSignal) => (payload_id && mayWrite ? findPayload(board_id, payload_id, signal) : null);
  const { data } = useResource(read, [payload_id, mayWrite], () => false, true);
  if (!data) return null;
  return (
    <section>
      <h3>Came from a webhook</h3>
      <details>
        <summary>
          {data.event_type ?? "Payload"} of <Time at={data.received_at} />
        </summary>
        <pre class="payload" tabIndex={0} aria-label="Payload">
          {typeof data.payload === "string" ? data.payload : JSON.stringify(data.payload, null, 2)}
        </pre>
      </details>
    </section>
  );
}
