import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { type Resource, useResource } from "../resource.ts";
import { Form } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { toPlain } from "../ui/plain.ts";
import { Dialog, Empty, Loading, Problem } from "../ui/parts.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";

const HISTORY_LIMIT = 50;
const MAX_TEXT = 4_000;

/** Shows the sessions on a host. They are read only when somebody asks for them, because the request goes to the host itself. */
export function Sessions({ gateway_id }: { gateway_id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Sessions</h2>
        {!isOpen && (
          <button type="button" onClick={() => setOpen(true)}>
            Ask the host
          </button>
        )}
      </div>
      {isOpen ? <Opened gateway_id={gateway_id} /> : <p class="muted">What runs on the host now, with its history.</p>}
    </section>
  );
}

function Opened({ gateway_id }: { gateway_id: string }) {
  const read = async (signal: AbortSignal) => ({
    items: (await api.get("/api/v1/gateways/sessions", { params: { query: { gateway_id } }, signal })).sessions,
  });
  const from = useResource(read, [gateway_id], () => false, true);
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <List what="the sessions" from={from} empty={["There are no sessions.", "An agent has one from its first message on."]}>
        {(session) => (
          <div class="row" key={session.key}>
            <div class="grow">
              <strong dir="auto">{session.label ?? session.agent_name ?? session.key}</strong>
              <code>{session.key}</code>
            </div>
            <button type="button" aria-label={`Open the session ${session.key}`} onClick={() => setShown(session.key)}>
              Open
            </button>
          </div>
        )}
      </List>
      {shown && <SessionDialog gateway_id={gateway_id} session_id={shown} onClose={() => setShown(null)} />}
    </>
  );
}

interface SessionProps {
  gateway_id: string;
  session_id: string;
  onClose: () => void;
}

export function SessionDialog({ gateway_id, session_id, onClose }: SessionProps) {
  const params = { path: { session_id }, query: { gateway_id } };
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/gateways/sessions/{session_id}/history", {
      params: { ...params, query: { gateway_id, limit: HISTORY_LIMIT } },
      signal,
    });
  const history = useResource(read, [session_id], () => false, true);
  const send = (content: string) => api.post("/api/v1/gateways/sessions/{session_id}/message", { params, body: { content } });
  return (
    <Dialog title="Session" onClose={onClose}>
      <code>{session_id}</code>
      <History from={history} />
      <Form
        name={`session.${session_id}`}
        fields={[{ name: "content", label: "Message to the session", kind: "long", rows: 3 }]}
        start={{ content: "" }}
        label="Send"
        submit={(typed) => send(textOf(typed, "content"))}
        onDone={() => {
          showInfo("The message was sent.");
          void history.reload();
        }}
      />
    </Dialog>
  );
}

interface Entry {
  role?: unknown;
  content?: unknown;
}

const toEntry = (said: unknown): Entry => (typeof said === "object" && said !== null ? said : { content: said });

/**
 * Returns the text of a message, which is either plain text or a list of parts as model APIs return it. Hosts differ, so anything
 * else is shown as JSON.
 */
function textOfEntry({ content }: Entry): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.map((part: { text?: unknown }) => part?.text) : [];
  const texts = parts.filter((text): text is string => typeof text === "string");
  return texts.length > 0 ? texts.join("\n") : JSON.stringify(content ?? "");
}

const toShown = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} …` : text);

function History({ from: { data, error, reload } }: { from: Resource<{ history: unknown[] }> }) {
  return (
    <>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the history" />}
      {data?.history.length === 0 && <Empty title="Nothing was said yet." />}
      {data && data.history.length > 0 && (
        <ol class="prose" tabIndex={0} aria-label="History">
          {data.history.map(toEntry).map((entry, index) => (
            <li key={index}>
              <strong>{typeof entry.role === "string" ? entry.role : "message"}</strong>{" "}
              <span dir="auto">{toPlain(toShown(textOfEntry(entry)))}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
