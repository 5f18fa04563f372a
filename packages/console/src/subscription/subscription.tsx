import { useState } from "preact/hooks";
import { boardName } from "../session.ts";
import type { Subscription } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { Deliveries } from "./deliveries.tsx";
import { FIELDS, toBody, toTyped } from "./fields.ts";
import type { SubscriptionStore } from "./store.ts";

interface RowProps {
  subscription: Subscription;
  store: SubscriptionStore;
  onChanged: () => void;
  /** Called with a secret that the service has just created, so that it can be shown once. */
  onSecret: (secret: string | null) => void;
}

/** Shows a receiver of events with its state, its deliveries, and its actions. */
export function SubscriptionRow({ subscription, store, onChanged, onSecret }: RowProps) {
  const [isOpen, setOpen] = useState(false);
  const { url, active, event_types, board_id, description, disabled_reason, failing_since, format } = subscription;
  const test = () =>
    attempt("The test was not sent", async () => {
      const result = await store.test(subscription);
      if (!result.ok) throw new Error(result.error ?? `The receiver answered ${result.status_code}.`);
      showInfo(`The receiver answered ${result.status_code} in ${result.duration_ms} ms.`);
    });
  const setActive = async () => {
    if (await attempt("The subscription was not changed", () => store.update(subscription, { active: !active }))) onChanged();
  };
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong class="text">{url}</strong>
          <span class={active ? "badge success" : "badge"}>{active ? "active" : "off"}</span>
          {format === "slack" && <span class="badge">Slack</span>}
          <span class="muted">
            {event_types.join(", ")} of {board_id ? boardName(board_id) : "all boards"}
          </span>
        </span>
        {description && <span dir="auto">{description}</span>}
        {disabled_reason && <span class="danger-text">{disabled_reason}</span>}
        {failing_since && (
          <span class="danger-text">
            Failing since <Time at={failing_since} />
          </span>
        )}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Deliveries</summary>
          {isOpen && <Deliveries subscription={subscription} store={store} />}
        </details>
      </div>
      <div class="actions wrap">
        <button type="button" onClick={test}>
          Send a test
        </button>
        <button type="button" onClick={setActive}>
          {active ? "Switch off" : "Switch on"}
        </button>
        <FormButton
          title="Change"
          about={`Change the subscription ${url}`}
          heading="Change the subscription"
          name={`subscription.${subscription.id}`}
          fields={FIELDS}
          start={toTyped(subscription)}
          label="Save"
          submit={(_typed, changed) => store.update(subscription, toBody(changed))}
          onDone={onChanged}
        />
        {format === "standard" && (
          <Confirm
            label="New secret"
            question="The present secret signs for 24 hours longer."
            confirm="Make a new secret"
            failure="The secret was not made"
            act={async () => onSecret((await store.rotate(subscription)).secret)}
            onDone={onChanged}
          />
        )}
        <Confirm
          label="Remove"
          question="Nothing is sent there any more, and its deliveries are deleted."
          confirm="Remove the subscription"
          failure="The subscription was not removed"
          act={() => store.remove(subscription)}
          onDone={onChanged}
        />
      </div>
    </div>
  );
}
