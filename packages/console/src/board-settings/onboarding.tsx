import { useEffect } from "preact/hooks";
import { api, isStatus } from "../api.ts";
import { visible } from "../live.ts";
import { useResource } from "../resource.ts";
import { toBoard, toBoardView } from "../route.ts";
import { boardName, canWrite, loadBoards } from "../session.ts";
import type { OnboardingSession } from "../types.ts";
import { Form, type Typed } from "../ui/form.tsx";
import { toPlain } from "../ui/plain.ts";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";
import { textOf, toLocal } from "../ui/values.ts";
import { GOAL_FIELDS, toBody } from "./fields.ts";

const BASE = "/api/v1/boards/{board_id}/onboarding";
/** How often to look for the agent's next message while a person waits for it. The feed does not report these messages. */
const ASK_MS = 2_000;

interface Question {
  question: string;
  options: { id: string; label: string }[];
}

/** Returns the question in a message of the main agent, or null. An agent wrote the text, so every part is checked. */
function questionOf(content: string): Question | null {
  try {
    const said = JSON.parse(content) as { question?: unknown; options?: unknown };
    if (typeof said.question !== "string") return null;
    const options = Array.isArray(said.options) ? (said.options as { id?: unknown; label?: unknown }[]) : [];
    return {
      question: said.question,
      options: options.flatMap(({ id, label }) => (typeof label === "string" ? [{ id: String(id ?? label), label }] : [])),
    };
  } catch {
    return null;
  }
}

async function read(board_id: string, signal: AbortSignal): Promise<{ session: OnboardingSession | null }> {
  try {
    return { session: await api.get(BASE, { params: { path: { board_id } }, signal }) };
  } catch (error) {
    if (isStatus(error, 404)) return { session: null };
    throw error;
  }
}

/** Shows the conversation in which the main agent asks for the board's goal and its lead. */
export function Onboarding({ board_id }: { board_id: string }) {
  const params = { path: { board_id } };
  const isOwn = (change: { type: string; board_id: string | null }) => change.board_id === board_id && change.type === "board";
  const { data, error, reload } = useResource((signal) => read(board_id, signal), [board_id], isOwn);
  const start = async () => {
    await attempt("The conversation did not begin", () => api.post(`${BASE}/start`, { params, body: {} }));
    await reload();
  };
  const session = data?.session;
  return (
    <main class="view">
      <a href={toBoardView(board_id, "settings")}>Back to the settings</a>
      <h1 dir="auto">Goal of {boardName(board_id)}</h1>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the conversation" />}
      {data && (!session || session.status === "confirmed") && (
        <Empty title={session ? "The goal is confirmed." : "Nobody has asked for the goal yet."}>
          <p>The main agent of the gateway asks six to ten short questions, and proposes the goal and a lead.</p>
          {canWrite(board_id) && (
            <button type="button" class="primary" onClick={start}>
              {session ? "Begin again" : "Begin the conversation"}
            </button>
          )}
        </Empty>
      )}
      {session && session.status !== "confirmed" && <Conversation session={session} onChanged={reload} />}
    </main>
  );
}

function Conversation({ session, onChanged }: { session: OnboardingSession; onChanged: () => Promise<void> }) {
  const { board_id, messages, status } = session;
  const params = { path: { board_id } };
  // The first message contains the instructions for the main agent, which are not meant for people.
  const shown = messages.slice(1);
  const last = messages.at(-1);
  const question = last?.role === "assistant" ? questionOf(last.content) : null;
  const isWaiting = last?.role === "user";
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => visible.value && void onChanged(), ASK_MS);
    return () => clearInterval(timer);
  }, [isWaiting]);
  const mayWrite = canWrite(board_id);
  const answer = (text: string) => api.post(`${BASE}/answer`, { params, body: { answer: text } });
  return (
    <>
      <ol class="comments" aria-live="polite" aria-label="Conversation">
        {shown.map(({ role, content, timestamp }) => (
          <li key={timestamp} class="comment">
            <span class="badge">{role === "assistant" ? "Agent" : "You"}</span>
            <p class="text" dir="auto">
              {toPlain(
                questionOf(content)?.question ?? (role === "assistant" ? "The goal is ready. Look at it below." : content),
              )}
            </p>
          </li>
        ))}
        {shown.length === 0 && <li class="muted">The agent was asked to begin. Its first question appears here.</li>}
        {shown.length > 0 && isWaiting && <li class="muted">The agent thinks about its next question.</li>}
      </ol>
      {mayWrite && status === "active" && (
        <section class="card-panel">
          {question && question.options.length > 0 && (
            <div class="actions wrap">
              {question.options.map(({ id, label }) => (
                <button
                  key={id}
                  type="button"
                  dir="auto"
                  onClick={async () => {
                    if (await attempt("The answer was not sent", () => answer(label))) await onChanged();
                  }}
                >
                  {label}
                </button>
              ))}
            </div>
          )}
          <Form
            name={`onboarding.${session.id}`}
            fields={[{ name: "answer", label: "Your own words", kind: "long", rows: 2 }]}
            start={{ answer: "" }}
            label="Answer"
            submit={(typed) => answer(textOf(typed, "answer"))}
            onDone={onChanged}
          />
        </section>
      )}
      {mayWrite && status === "completed" && <ConfirmGoal session={session} />}
    </>
  );
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Shows the proposed goal, which the person may still change. */
function ConfirmGoal({ session: { id, board_id, draft_goal } }: { session: OnboardingSession }) {
  const draft: Record<string, unknown> = draft_goal ?? {};
  const start: Typed = {
    board_type: text(draft["board_type"]) || "general",
    objective: text(draft["objective"]),
    success_metrics: draft["success_metrics"] ? JSON.stringify(draft["success_metrics"], null, 2) : "",
    target_date: toLocal(text(draft["target_date"]) || null),
  };
  const confirm = (typed: Typed) => {
    const { board_type = "general", ...goal } = toBody(typed);
    return api.post(`${BASE}/confirm`, { params: { path: { board_id } }, body: { board_type, ...goal } as never });
  };
  return (
    <section class="card-panel">
      <h2>The proposed goal</h2>
      <Form
        name={`goal.${id}`}
        fields={GOAL_FIELDS.filter(({ name }) => name !== "goal_confirmed")}
        start={start}
        label="Confirm the goal"
        submit={confirm}
        onDone={async () => {
          await loadBoards();
          location.hash = toBoard(board_id);
        }}
      />
    </section>
  );
}
