import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { go, toView } from "../route.ts";
import { boards, canWrite, isAdmin } from "../session.ts";
import type { Webhook } from "../types.ts";
import { Dialog, Empty, Loading, Problem, Snippet } from "../ui/parts.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { Payloads } from "./payloads.tsx";
import { Subscriptions } from "./subscriptions.tsx";

const LIMIT = 100;
const TEST_PAYLOAD = { event: "test", message: "Sent by the console" };

export const addressOf = ({ endpoint_path }: Pick<Webhook, "endpoint_path">): string => `${location.origin}${endpoint_path}`;

export const toCurl = (webhook: Webhook): string =>
  webhook.has_secret
    ? `BODY='${JSON.stringify(TEST_PAYLOAD)}'\nSIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //')\ncurl -s ${addressOf(webhook)} -H "Content-Type: application/json" -H "${webhook.signature_header ?? "X-Hub-Signature-256"}: sha256=$SIGNATURE" -d "$BODY"`
    : `curl -s ${addressOf(webhook)} -H "Content-Type: application/json" -d '${JSON.stringify(TEST_PAYLOAD)}'`;

/** Posts to a webhook as another system would. */
export async function sendTest({ board_id, id }: Webhook): Promise<void> {
  const path = { board_id, webhook_id: id };
  await api.post("/api/v1/boards/{board_id}/webhooks/{webhook_id}", { params: { path }, body: TEST_PAYLOAD as never });
  showInfo("The test payload was accepted.");
}

function Endpoint({ webhook }: { webhook: Webhook }) {
  const [isOpen, setOpen] = useState(false);
  // A test would need the secret for its signature, and the service does not return the secret.
  const canTest = webhook.enabled && !webhook.has_secret;
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong class="text" dir="auto">
            {webhook.description}
          </strong>
          {webhook.source !== "generic" && <span class="badge">{webhook.source}</span>}
          <span class={webhook.enabled ? "badge success" : "badge"}>{webhook.enabled ? "enabled" : "disabled"}</span>
          {webhook.has_secret && <span class="badge">signed</span>}
        </span>
        <Snippet label="Address" text={addressOf(webhook)} />
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Payloads and example</summary>
          {isOpen && (
            <div class="panel">
              <Snippet label="Post with curl" text={toCurl(webhook)} />
              <Payloads webhook={webhook} />
            </div>
          )}
        </details>
      </div>
      {canTest && (
        <button type="button" onClick={() => attempt("The test payload was not accepted", () => sendTest(webhook))}>
          Send a test
        </button>
      )}
    </div>
  );
}

function NewWebhook({ board_id, onClose, onCreated }: { board_id: string; onClose: () => void; onCreated: () => void }) {
  const [description, setDescription] = useState("");
  const [secret, setSecret] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    const isCreated = await attempt("The webhook was not created", () =>
      api.post("/api/v1/boards/{board_id}/webhooks", {
        params: { path: { board_id } },
        body: { description, secret: secret || null },
      }),
    );
    if (!isCreated) return;
    onCreated();
    onClose();
  };
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>
          What the agent should do with a payload
          <textarea required rows={3} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
        </label>
        <label>
          Secret for signatures, or nothing
          <input type="password" autocomplete="off" value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
        </label>
        <div class="form-actions">
          <button type="submit" class="primary">
            Create webhook
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Webhooks({ board_id }: { board_id: string | null }) {
  const [isCreating, setCreating] = useState(false);
  const mayWrite = canWrite(board_id);
  const read = async (signal: AbortSignal) => {
    if (!board_id || !mayWrite) return [];
    const params = { path: { board_id }, query: { limit: LIMIT } };
    return (await api.get("/api/v1/boards/{board_id}/webhooks", { params, signal })).items;
  };
  const { data, error, reload } = useResource(read, [board_id, mayWrite], () => false);
  return (
    <main class="view">
      <div class="view-intro">
        <h1>Webhooks</h1>
        <div class="filters">
          {board_id && (
            <select aria-label="Board" value={board_id} onChange={(event) => go(toView("webhooks", event.currentTarget.value))}>
              {boards.value?.map((board) => (
                <option key={board.id} value={board.id}>
                  {board.name}
                </option>
              ))}
            </select>
          )}
          {mayWrite && (
            <button type="button" class="primary" onClick={() => setCreating(true)}>
              New webhook
            </button>
          )}
        </div>
      </div>
      <Problem error={error} retry={reload} />
      <section>
        <h2>Incoming</h2>
        {board_id === null && <Empty title="Webhooks belong to a board, and there is none yet." />}
        {board_id !== null && !mayWrite && <Empty title="You need the right to write to this board to see where to post." />}
        {mayWrite && !data && !error && <Loading what="the webhooks" />}
        {mayWrite && data?.length === 0 && (
          <Empty title="This board has no webhooks.">
            A webhook is an address to which other systems post work for an agent.
          </Empty>
        )}
        {data && data.length > 0 && (
          <div class="rows">
            {data.map((webhook) => (
              <Endpoint key={webhook.id} webhook={webhook} />
            ))}
          </div>
        )}
      </section>
      {isAdmin.value && <Subscriptions />}
      {isCreating && board_id && <NewWebhook board_id={board_id} onClose={() => setCreating(false)} onCreated={reload} />}
    </main>
  );
}
