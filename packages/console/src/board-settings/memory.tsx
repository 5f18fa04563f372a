import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { canWrite } from "../session.ts";
import { FormButton } from "../ui/form-dialog.tsx";
import type { Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { Time } from "../ui/time.tsx";
import { textOf, textOrNull } from "../ui/values.ts";

const PATH = "/api/v1/boards/{board_id}/memory";
const LIMIT = 20;
const MAX_TEXT = 1_000;

const toBody = (typed: Typed) => {
  const key = textOrNull(typed, "key");
  const content = textOf(typed, "content");
  const tags = typed["is_chat"] === true ? ["chat"] : [];
  return key === null ? { content, tags } : { key, value: content as never, tags };
};

/** What people and agents have written down for each other, newest first. */
export function BoardMemory({ board_id }: { board_id: string }) {
  const [q, setQ] = useState("");
  const params = { path: { board_id } };
  const read = (signal: AbortSignal) =>
    api.get(PATH, { params: { ...params, query: { limit: LIMIT, ...(q.trim() ? { q: q.trim() } : {}) } }, signal });
  const from = useResource(read, [board_id, q], ({ type, board_id: of }) => type === "memory" && of === board_id);
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Memory and chat</h2>
        <div class="actions">
          <input
            type="search"
            aria-label="Search the memory"
            placeholder="Search"
            value={q}
            onInput={(event) => setQ(event.currentTarget.value)}
          />
          {canWrite(board_id) && (
            <FormButton
              title="Write"
              name={`memory.${board_id}`}
              fields={[
                { name: "content", label: "Text", kind: "long", rows: 4 },
                { name: "key", label: "Key", placeholder: "none", hint: "The newest text of a key replaces the earlier ones." },
                { name: "is_chat", label: "Say it to the agents in the chat", kind: "check" },
              ]}
              start={{ content: "", key: "", is_chat: false }}
              label="Write it down"
              submit={(typed) => api.post(PATH, { params, body: toBody(typed) })}
              onDone={from.reload}
            />
          )}
        </div>
      </div>
      <List what="the memory" from={from} empty={["Nothing is written down.", "Agents keep here what later tasks need."]}>
        {(entry) => (
          <div class="row" key={entry.id}>
            <div class="grow">
              <span class="row-head">
                {entry.key && <code>{entry.key}</code>}
                {entry.is_chat && <span class="badge">chat</span>}
                <span class="muted">
                  {entry.source ? `${entry.source}, ` : ""}
                  <Time at={entry.created_at} />
                </span>
              </span>
              <span class="text" dir="auto">
                {entry.content.slice(0, MAX_TEXT)}
              </span>
            </div>
          </div>
        )}
      </List>
    </section>
  );
}
