import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { go, toView } from "../route.ts";
import { boards, canWrite } from "../session.ts";
import { BoardSubscriptions } from "../subscription/subscriptions.tsx";
import { List } from "../ui/list.tsx";
import { Empty } from "../ui/parts.tsx";
import { optionOf, Select } from "../ui/select.tsx";
import { LIST } from "./address.ts";
import { Endpoint } from "./endpoint.tsx";
import { WebhookForm } from "./form.tsx";

const LIMIT = 100;

function Incoming({ board_id }: { board_id: string }) {
  const [isCreating, setCreating] = useState(false);
  const read = (signal: AbortSignal) => api.get(LIST, { params: { path: { board_id }, query: { limit: LIMIT } }, signal });
  const from = useResource(read, [board_id], () => false);
  return (
    <section>
      <div class="view-intro">
        <h2>Incoming</h2>
        <button type="button" class="primary" onClick={() => setCreating(true)}>
          New webhook
        </button>
      </div>
      <List
        what="the webhooks"
        from={from}
        empty={["This board has no webhooks.", "A webhook is an address to which other systems post work for an agent."]}
      >
        {(webhook) => <Endpoint key={webhook.id} webhook={webhook} onChanged={from.reload} />}
      </List>
      {isCreating && <WebhookForm board_id={board_id} webhook={null} onDone={from.reload} onClose={() => setCreating(false)} />}
    </section>
  );
}

/** Shows what a board receives from other systems (webhooks), and which events it sends to them (subscriptions). */
export function Webhooks({ board_id }: { board_id: string | null }) {
  return (
    <main class="view">
      <div class="view-intro">
        <h1>Webhooks</h1>
        {board_id && (
          <div class="filters">
            <Select
              label="Board"
              value={board_id}
              options={(boards.value ?? []).map(optionOf)}
              onChoose={(id) => go(toView("webhooks", id))}
            />
          </div>
        )}
      </div>
      {board_id === null && <Empty title="Webhooks belong to a board, and there is none yet." />}
      {board_id !== null && !canWrite(board_id) && (
        <Empty title="You need the right to write to this board to see where to post." />
      )}
      {board_id !== null && canWrite(board_id) && (
        <>
          <Incoming key={`incoming-${board_id}`} board_id={board_id} />
          <BoardSubscriptions key={`outgoing-${board_id}`} board_id={board_id} />
        </>
      )}
    </main>
  );
}
