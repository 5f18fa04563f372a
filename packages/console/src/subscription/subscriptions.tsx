import { useMemo, useState } from "preact/hooks";
import { useResource } from "../resource.ts";
import { FormButton } from "../ui/form-button.tsx";
import { List } from "../ui/list.tsx";
import { Secret } from "../ui/secret.tsx";
import { FIELDS, NEW, toBody } from "./fields.ts";
import { subscriptionsOf } from "./store.ts";
import { SubscriptionRow } from "./subscription.tsx";

/** Lists the receivers of events of one board, or of the organization with all its boards. */
function SubscriptionList({ title, board_id }: { title: string; board_id: string | null }) {
  const store = useMemo(() => subscriptionsOf(board_id), [board_id]);
  const from = useResource(store.read, [board_id], () => false);
  const [made, setMade] = useState<{ secret: string | null } | null>(null);
  return (
    <section>
      <div class="view-intro">
        <h2>{title}</h2>
        <FormButton
          title="New subscription"
          name={`subscription.new.${board_id ?? "organization"}`}
          fields={FIELDS}
          start={NEW}
          label="Create subscription"
          submit={async (typed) => setMade(await store.create({ url: "", ...toBody(typed) }))}
          onDone={from.reload}
        />
      </div>
      {made && (
        <Secret
          key={made.secret}
          label="Secret, with which the receiver checks signatures"
          text={made.secret}
          onDone={() => setMade(null)}
        />
      )}
      <List
        what="the subscriptions"
        from={from}
        empty={["There are no subscriptions.", "A subscription posts events to another system."]}
      >
        {(subscription) => (
          <SubscriptionRow
            key={subscription.id}
            subscription={subscription}
            store={store}
            onChanged={from.reload}
            onSecret={(secret) => setMade({ secret })}
          />
        )}
      </List>
    </section>
  );
}

export const Subscriptions = () => <SubscriptionList title="Subscriptions of all boards" board_id={null} />;

export const BoardSubscriptions = ({ board_id }: { board_id: string }) => (
  <SubscriptionList title="Outgoing: subscriptions" board_id={board_id} />
);
