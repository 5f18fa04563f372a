import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, SESSION, token } from "../api.ts";
import { toBoard, toView } from "../route.ts";
import { canWrite, isAdmin, loadBoards } from "../session.ts";
import type { Board, Webhook } from "../types.ts";
import { type FieldSpec, Form, type Typed } from "../ui/form.tsx";
import { Empty, Snippet } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";
import { sendTest, toCurl } from "../webhook/address.ts";
import { Payloads } from "../webhook/payloads.tsx";
import { Connect } from "./connect.tsx";
import { InvitePerson } from "./invite-person.tsx";

const MAX_AGENTS = 5;

function Step({
  number,
  title,
  isDone,
  children,
}: {
  number: number;
  title: string;
  isDone: boolean;
  children: ComponentChildren;
}) {
  return (
    <section class={isDone ? "step is-done" : "step"}>
      <span class="step-number" aria-hidden="true">
        {isDone ? "✓" : number}
      </span>
      <div class="step-body">
        <h2>{title}</h2>
        {children}
      </div>
    </section>
  );
}

const BOARD_FIELDS: readonly FieldSpec[] = [
  { name: "name", label: "Name" },
  { name: "description", label: "What it is for" },
];

function MakeBoard({ onMade }: { onMade: (board: Board) => void }) {
  const make = async (typed: Typed) => {
    const texts = { name: textOf(typed, "name"), description: textOf(typed, "description") };
    const body = { ...texts, gateway: "pull", max_agents: MAX_AGENTS, require_approval_for_done: false } as const;
    const board = await api.post("/api/v1/boards", { body });
    await loadBoards();
    onMade(board);
  };
  const start = { name: "", description: "" };
  return <Form name="board.new" fields={BOARD_FIELDS} start={start} label="Make the board" submit={make} />;
}

function TestWebhook({ board, onSent }: { board: Board; onSent: () => void }) {
  const [webhook, setWebhook] = useState<Webhook | null>(null);
  const [isSent, setSent] = useState(false);
  const send = () =>
    attempt("The test webhook was not sent", async () => {
      const created =
        webhook ??
        (await api.post("/api/v1/boards/{board_id}/webhooks", {
          params: { path: { board_id: board.id } },
          body: { description: "Read the payload and create the tasks that it asks for." },
        }));
      setWebhook(created);
      await sendTest(created);
      setSent(true);
      onSent();
    });
  return (
    <>
      <p class="muted">Creates an address for other systems, posts to it, and shows what happens to the post.</p>
      <button type="button" class={isSent ? "" : "primary"} onClick={send}>
        {isSent ? "Send it again" : "Send a test webhook"}
      </button>
      {webhook && isSent && (
        <div class="panel">
          <Snippet label="Post with curl" text={toCurl(webhook)} />
          <Payloads webhook={webhook} />
        </div>
      )}
    </>
  );
}

/** Leads from an empty service to a board with an agent and a webhook, step by step. */
export function FirstUse() {
  const [board, setBoard] = useState<Board | null>(null);
  const [isConnected, setConnected] = useState(false);
  const [isTested, setTested] = useState(false);
  const [isInvited, setInvited] = useState(false);
  if (!isAdmin.value)
    return (
      <main class="view">
        <Empty title="You see no board yet.">An owner or admin of your organization makes boards and gives you access.</Empty>
      </main>
    );
  return (
    <main class="view">
      <div>
        <h1>Begin with a board</h1>
        <p class="muted">
          A few steps, at any pace. <code>npm run demo</code> instead shows a board that agents fill by themselves.
        </p>
      </div>
      <div class="steps">
        <Step number={1} title="Make a board" isDone={board !== null}>
          {board ? (
            <p>
              <a href={toBoard(board.id)} dir="auto">
                {board.name}
              </a>{" "}
              is ready.
            </p>
          ) : (
            <MakeBoard onMade={setBoard} />
          )}
        </Step>
        <Step number={2} title="Connect an agent" isDone={isConnected}>
          {board && canWrite(board.id) ? (
            <Connect boards={[board]} onConnected={() => setConnected(true)} />
          ) : (
            <p class="muted">An agent that comes and asks for work, such as Claude Code or a script.</p>
          )}
        </Step>
        <Step number={3} title="Send a test webhook" isDone={isTested}>
          {board && canWrite(board.id) ? (
            <TestWebhook board={board} onSent={() => setTested(true)} />
          ) : (
            <p class="muted">Other systems post work for an agent.</p>
          )}
        </Step>
        {token.value === SESSION && (
          <Step number={4} title="Invite a person" isDone={isInvited}>
            {board ? (
              <InvitePerson board={board} onInvited={() => setInvited(true)} />
            ) : (
              <p class="muted">Each person gets an account by opening the link of an invite.</p>
            )}
          </Step>
        )}
      </div>
      {board && (
        <p>
          <a href={toBoard(board.id)}>Open the board</a> or look at its <a href={toView("webhooks", board.id)}>webhooks</a>.
        </p>
      )}
    </main>
  );
}
