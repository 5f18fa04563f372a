import { useState } from "preact/hooks";
import { api } from "../api.ts";
import type { Webhook } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Snippet } from "../ui/parts.tsx";
import { isPast, Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { addressOf, ITEM, pathOf, sendTest, toCurl } from "./address.ts";
import { WebhookForm } from "./form.tsx";
import { Payloads } from "./payloads.tsx";

/** Shows a webhook with its address, what it has received, and its actions. */
export function Endpoint({ webhook, onChanged }: { webhook: Webhook; onChanged: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [isEditing, setEditing] = useState(false);
  // A test post to a webhook with a secret needs a signature. The page cannot sign, because the service never returns the secret.
  const canTest = webhook.enabled && !webhook.has_secret;
  const until = webhook.previous_secret_until;
  const endPrevious = async () => {
    const act = () => api.patch(ITEM, { ...pathOf(webhook), body: { previous_secret: null as never } });
    if (await attempt("The previous secret was not ended", act)) onChanged();
  };
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
        {webhook.event_types && <span class="muted">notifies of {webhook.event_types.join(", ")}</span>}
        {until && !isPast(until) && (
          <span class="row-head muted">
            The previous secret stops working <Time at={until} />.
            <button type="button" class="small" onClick={endPrevious}>
              End it now
            </button>
          </span>
        )}
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
      <div class="actions wrap">
        {canTest && (
          <button type="button" onClick={() => attempt("The test payload was not accepted", () => sendTest(webhook))}>
            Send a test
          </button>
        )}
        <button type="button" aria-label={`Change the webhook ${webhook.description}`} onClick={() => setEditing(true)}>
          Change
        </button>
        <Confirm
          label="Remove"
          question="Its address stops working, and its payloads are deleted."
          confirm="Remove the webhook"
          failure="The webhook was not removed"
          act={() => api.delete(ITEM, pathOf(webhook))}
          onDone={onChanged}
        />
      </div>
      {isEditing && (
        <WebhookForm board_id={webhook.board_id} webhook={webhook} onDone={onChanged} onClose={() => setEditing(false)} />
      )}
    </div>
  );
}
