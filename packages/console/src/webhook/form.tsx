import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Webhook } from "../types.ts";
import { Form } from "../ui/form.tsx";
import { Dialog, Loading, Problem } from "../ui/parts.tsx";
import { ITEM, LIST, pathOf } from "./address.ts";
import { fieldsOf, NEW, toBody, toTyped } from "./fields.ts";

interface WebhookFormProps {
  board_id: string;
  /** The webhook to change, or null to create a webhook. */
  webhook: Webhook | null;
  onDone: () => void;
  onClose: () => void;
}

/** Shows the form of a webhook in a window. The person chooses among the agents of its board. */
export function WebhookForm({ board_id, webhook, onDone, onClose }: WebhookFormProps) {
  const read = async (signal: AbortSignal) =>
    (await api.get("/api/v1/boards/{board_id}/snapshot", { params: { path: { board_id } }, signal })).agents;
  const { data, error, reload } = useResource(read, [board_id], () => false, true);
  const done = () => {
    onDone();
    onClose();
  };
  return (
    <Dialog title={webhook ? "Change the webhook" : "New webhook"} onClose={onClose}>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the agents" />}
      {data && (
        <Form
          name={webhook ? `webhook.${webhook.id}` : `webhook.new.${board_id}`}
          fields={fieldsOf(data, webhook)}
          start={webhook ? toTyped(webhook) : NEW}
          label={webhook ? "Save" : "Create webhook"}
          focusFirst
          submit={(typed, changed) =>
            webhook
              ? api.patch(ITEM, { ...pathOf(webhook), body: toBody(changed) })
              : api.post(LIST, { params: { path: { board_id } }, body: { description: "", ...toBody(typed) } })
          }
          onDone={done}
        />
      )}
    </Dialog>
  );
}
