import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Delivery, Subscription } from "../types.ts";
import { Dialog, Empty, Loading, Problem, Snippet } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";

const LIMIT = 20;

function Deliveries({ subscription }: { subscription: Subscription }) {
  const path = { subscription_id: subscription.id };
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/subscriptions/{subscription_id}/deliveries", { params: { path, query: { limit: LIMIT } }, signal });
  const { data, error, reload } = useResource(read, [subscription.id], () => true);
  const redeliver = async (delivery: Delivery) => {
    const params = { path: { ...path, delivery_id: delivery.id } };
    const act = () => api.post("/api/v1/subscriptions/{subscription_id}/deliveries/{delivery_id}/redeliver", { params });
    if (await attempt("The event was not sent again", act)) await reload();
  };
  return (
    <div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the deliveries" />}
      {data?.items.length === 0 && <p class="muted">No event was sent yet.</p>}
      {data?.items.map((delivery) => (
        <div class="row" key={delivery.id}>
          <div class="grow">
            <span class="row-head">
              <span>{delivery.event_type}</span>
              <span class={`badge ${delivery.status === "delivered" ? "success" : delivery.status === "failed" ? "danger" : ""}`}>
                {delivery.status}
              </span>
              <span class="muted">
                {delivery.attempts} attempts, <Time at={delivery.occurred_at} />
              </span>
            </span>
            {delivery.last_error && (
              <span class="danger-text text" dir="auto">
                {delivery.last_error}
              </span>
            )}
          </div>
          {subscription.active && (
            <button type="button" class="small" onClick={() => redeliver(delivery)}>
              Redeliver
            </button>
          )}
        </div>
      ))}
    </div>
  );
}

function Row({ subscription, onChanged }: { subscription: Subscription; onChanged: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const params = { path: { subscription_id: subscription.id } };
  const test = () =>
    attempt("The test was not sent", async () => {
      const result = await api.post("/api/v1/subscriptions/{subscription_id}/test", { params });
      if (!result.ok) throw new Error(result.error ?? `The receiver answered ${result.status_code}.`);
      showInfo(`The receiver answered ${result.status_code} in ${result.duration_ms} ms.`);
    });
  const setActive = async (active: boolean) => {
    const act = () => api.patch("/api/v1/subscriptions/{subscription_id}", { params, body: { active } });
    if (await attempt("The subscription was not changed", act)) onChanged();
  };
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong class="text">{subscription.url}</strong>
          <span class={subscription.active ? "badge success" : "badge"}>{subscription.active ? "active" : "off"}</span>
          <span class="muted">{subscription.event_types.join(", ")}</span>
        </span>
        {subscription.description && <span dir="auto">{subscription.description}</span>}
        {subscription.disabled_reason && <span class="danger-text">{subscription.disabled_reason}</span>}
        {subscription.failing_since && (
          <span class="danger-text">
            Failing since <Time at={subscription.failing_since} />
          </span>
        )}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Deliveries</summary>
          {isOpen && <Deliveries subscription={subscription} />}
        </details>
      </div>
      <div class="actions">
        <button type="button" onClick={test}>
          Send a test
        </button>
        <button type="button" onClick={() => setActive(!subscription.active)}>
          {subscription.active ? "Switch off" : "Switch on"}
        </button>
      </div>
    </div>
  );
}

function NewSubscription({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const [url, setUrl] = useState("");
  const [types, setTypes] = useState("*");
  const [secret, setSecret] = useState<string | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const event_types = types.split(",").map((name) => name.trim());
    await attempt("The subscription was not created", async () => {
      setSecret((await api.post("/api/v1/subscriptions", { body: { url, event_types } })).secret);
      onCreated();
    });
  };
  return (
    <Dialog title="New subscription" onClose={onClose}>
      {secret !== null ? (
        <div class="panel" role="status">
          <p>The receiver checks signatures with this secret. It is not shown again.</p>
          <Snippet label="Secret" text={secret} />
        </div>
      ) : (
        <form class="form" onSubmit={submit}>
          <label>
            Address of the receiver
            <input
              type="url"
              required
              placeholder="https://example.com/events"
              value={url}
              onInput={(event) => setUrl(event.currentTarget.value)}
            />
          </label>
          <label>
            Events, with commas; * for all
            <input required value={types} onInput={(event) => setTypes(event.currentTarget.value)} />
          </label>
          <div class="form-actions">
            <button type="submit" class="primary">
              Create subscription
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** The receivers of the organization's events. */
export function Subscriptions() {
  const [isCreating, setCreating] = useState(false);
  const read = (signal: AbortSignal) => api.get("/api/v1/subscriptions", { params: { query: { limit: 100 } }, signal });
  const { data, error, reload } = useResource(read, [], () => false);
  return (
    <section>
      <div class="view-intro">
        <h2>Outgoing: subscriptions</h2>
        <button type="button" onClick={() => setCreating(true)}>
          New subscription
        </button>
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the subscriptions" />}
      {data?.items.length === 0 && (
        <Empty title="There are no subscriptions.">A subscription posts events to another system.</Empty>
      )}
      {data && data.items.length > 0 && (
        <div class="rows">
          {data.items.map((subscription) => (
            <Row key={subscription.id} subscription={subscription} onChanged={reload} />
          ))}
        </div>
      )}
      {isCreating && <NewSubscription onClose={() => setCreating(false)} onCreated={reload} />}
    </section>
  );
}
