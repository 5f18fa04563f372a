import { useState } from "preact/hooks";
import { useResource } from "../resource.ts";
import type { Delivery, Subscription } from "../types.ts";
import { FormButton } from "../ui/form-button.tsx";
import { FieldError, type Typed } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { fromLocal, textOf } from "../ui/values.ts";
import type { SubscriptionStore } from "./store.ts";

const STYLES = { delivered: "success", failed: "danger", pending: "" };

interface DeliveriesProps {
  subscription: Subscription;
  store: SubscriptionStore;
}

/** Shows what was sent and what the receiver answered. It is read when somebody opens it. */
function Exchange({ delivery, store }: { delivery: Delivery; store: SubscriptionStore }) {
  const { data, error, reload } = useResource(
    (signal) => store.delivery(delivery, signal),
    [delivery.id, delivery.attempts],
    () => false,
    true,
  );
  const headers = data?.request.headers;
  return (
    <div class="panel">
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the delivery" />}
      {data && (
        <>
          {headers && (
            <pre class="payload" tabIndex={0} aria-label="Headers that were sent">
              {Object.entries(headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join("\n")}
            </pre>
          )}
          <pre class="payload" tabIndex={0} aria-label="Body that was sent">
            {data.request.body}
          </pre>
          {data.response === null ? (
            <p class="muted">No answer came.</p>
          ) : (
            <>
              <p class="muted">
                The receiver answered {data.response.status} in {data.response.duration_ms} ms.
              </p>
              {data.response.body && (
                <pre class="payload" tabIndex={0} aria-label="Body of the answer">
                  {data.response.body}
                </pre>
              )}
            </>
          )}
        </>
      )}
    </div>
  );
}

function Row({
  delivery,
  store,
  isActive,
  onChanged,
}: {
  delivery: Delivery;
  store: SubscriptionStore;
  isActive: boolean;
  onChanged: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const redeliver = async () => {
    if (await attempt("The event was not sent again", () => store.redeliver(delivery))) onChanged();
  };
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <span>{delivery.event_type}</span>
          <span class={`badge ${STYLES[delivery.status]}`}>{delivery.status}</span>
          <span class="muted">
            {delivery.attempts === 1 ? "1 attempt" : `${delivery.attempts} attempts`}, <Time at={delivery.occurred_at} />
            {delivery.next_attempt_at && (
              <>
                , next <Time at={delivery.next_attempt_at} />
              </>
            )}
          </span>
        </span>
        {delivery.last_error && (
          <span class="danger-text text" dir="auto">
            {delivery.last_error}
          </span>
        )}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>What was sent and answered</summary>
          {isOpen && <Exchange delivery={delivery} store={store} />}
        </details>
      </div>
      {isActive && (
        <button type="button" class="small" onClick={redeliver}>
          Redeliver
        </button>
      )}
    </div>
  );
}

/** Shows the latest events that were sent to the receiver. Failed deliveries can be sent again. */
export function Deliveries({ subscription, store }: DeliveriesProps) {
  const { data, error, reload } = useResource(
    (signal) => store.deliveries(subscription, signal),
    [subscription.id],
    () => true,
  );
  const recover = async (typed: Typed) => {
    const since = fromLocal(textOf(typed, "since"));
    if (since === null) throw new FieldError("since", "Choose a time.");
    const { count } = await store.recover(subscription, since);
    showInfo(count === 1 ? "1 event is sent again." : `${count} events are sent again.`);
  };
  return (
    <div class="panel">
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the deliveries" />}
      {data?.items.length === 0 && <p class="muted">No event was sent yet.</p>}
      {data && data.items.length > 0 && subscription.active && (
        <div>
          <FormButton
            title="Send failed ones again"
            name={`recover.${subscription.id}`}
            fields={[{ name: "since", label: "Failed events since", kind: "moment" }]}
            start={{ since: "" }}
            label="Send them again"
            submit={recover}
            onDone={reload}
          />
        </div>
      )}
      {data?.items.map((delivery) => (
        <Row key={delivery.id} delivery={delivery} store={store} isActive={subscription.active} onChanged={reload} />
      ))}
    </div>
  );
}
