import { useState } from "preact/hooks";
import type { Change } from "../live.ts";
import { useResource } from "../resource.ts";
import { FormButton } from "../ui/form-button.tsx";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { Time } from "../ui/time.tsx";

export interface MemoryEntry {
  id: string;
  content: string;
  source: string | null;
  is_chat: boolean;
  created_at: string;
  key?: string | null;
}

interface MemoryProps {
  title: string;
  /** The name under which the draft is stored, so it must differ for each memory. */
  name: string;
  read: (query: { limit: number; q?: string }, signal: AbortSignal) => Promise<{ items: MemoryEntry[]; total: number }>;
  fields: readonly FieldSpec[];
  start: Typed;
  /** Stores what was typed; null for a person who may only read. */
  write: ((typed: Typed) => Promise<unknown>) | null;
  concerns: (change: Change) => boolean;
}

const LIMIT = 20;
const MAX_TEXT = 1_000;

/** Shows what people and agents have written down for each other, newest first. */
export function Memory({ title, name, read, fields, start, write, concerns }: MemoryProps) {
  const [q, setQ] = useState("");
  const query = { limit: LIMIT, ...(q.trim() ? { q: q.trim() } : {}) };
  const from = useResource((signal) => read(query, signal), [name, q], concerns);
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>{title}</h2>
        <div class="actions">
          <input
            type="search"
            aria-label={`Search: ${title}`}
            placeholder="Search"
            value={q}
            onInput={(event) => setQ(event.currentTarget.value)}
          />
          {write && (
            <FormButton
              title="Write"
              about={`Write: ${title}`}
              name={name}
              fields={fields}
              start={start}
              label="Write it down"
              submit={write}
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
                {entry.content.length > MAX_TEXT ? `${entry.content.slice(0, MAX_TEXT)} …` : entry.content}
              </span>
            </div>
          </div>
        )}
      </List>
    </section>
  );
}
