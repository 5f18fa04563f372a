import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Payload, Webhook } from "../types.ts";
import { FormButton } from "../ui/form-button.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { FIELDS, redeliverAll, START } from "./redeliver.ts";

const LIMIT = 20;
const STYLES: Record<string, string> = {
  delivered: "success",
  failed: "danger",
  no_target: "danger",
  retrying: "warning",
};

const WAITS = {
  gateway: "Waits for its host, which is down.",
  slot: "Waits until other work of the organization or gateway ends.",
  lane: "Waits for an earlier message to the agent.",
};

const toText = (payload: unknown): string => (typeof payload === "string" ? payload : JSON.stringify(payload, null, 2));

/** Shows the latest payloads of a webhook, and whether its agent was notified. */
export function Payloads({ webhook }: { webhook: Webhook }) {
  const { board_id, id: webhook_id } = webhook;
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads", {
      params: { path: { board_id, webhook_id }, query: { limit: LIMIT } },
      signal,
    });
  const { data, error, reload } = useResource(read, [webhook_id], (change) => change.board_id === board_id);
  const redeliver = async (payload: Payload) => {
    const params = { path: { board_id, webhook_id, payload_id: payload.id } };
    const act = () => api.post("/api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}/redeliver", { params });
    if (await attempt("The payload was not delivered again", act)) await reload();
  };
  return (
    <div>
      <div class="view-intro">
        <h3>Latest payloads{data && data.total > LIMIT ? ` of ${data.total}` : ""}</h3>
        {data && data.items.length > 0 && (
          <FormButton
            title="Deliver again"
            about="Deliver payloads again"
            name={`redeliver.${webhook_id}`}
            fields={FIELDS}
            start={START}
            label="Deliver them again"
            submit={(typed) => redeliverAll(webhook, typed)}
            onDone={reload}
          />
        )}
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the payloads" />}
      {data?.items.length === 0 && <p class="muted">Nothing was received yet.</p>}
      {data?.items.map((payload) => (
        <div class="row" key={payload.id}>
          <div class="grow">
            <span class="row-head">
              <span dir="auto">{payload.event_type ?? "payload"}</span>
              {payload.delivery && (
                <span class={`badge ${STYLES[payload.delivery.status] ?? ""}`}>{payload.delivery.status.replace("_", " ")}</span>
              )}
              <span class="muted">
                <Time at={payload.received_at} /> from {payload.source_ip}
              </span>
            </span>
            {payload.delivery?.waits_for && (
              <span class="muted">
                {WAITS[payload.delivery.waits_for]}
                {payload.delivery.next_attempt_at && (
                  <>
                    {" "}
                    Next attempt: <Time at={payload.delivery.next_attempt_at} />
                  </>
                )}
              </span>
            )}
            {payload.delivery?.last_error && (
              <span class="danger-text text" dir="auto">
                {payload.delivery.last_error}
              </span>
            )}
            <details>
              <summary>Body</summary>
              <pre class="payload" tabIndex={0} aria-label="Body of the payload">
                {toText(payload.payload)}
              </pre>
            </details>
          </div>
          <button type="button" class="small" onClick={() => redeliver(payload)}>
            Redeliver
          </button>
        </div>
      ))}
    </div>
  );
}
