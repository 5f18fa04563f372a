import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { BoardMemory } from "../memory/board.tsx";
import { replace, toBoard, toBoardView, toView } from "../route.ts";
import { canWrite, isAdmin, loadBoards } from "../session.ts";
import type { Board } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { type FieldSpec, Form } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { showInfo } from "../ui/toast.tsx";
import { type Choices, generalFields, GOAL_FIELDS, RULE_FIELDS, toBody, toTyped } from "./fields.ts";
import { FollowingBoard } from "./following.tsx";
import { Pause } from "./pause.tsx";
import { BoardTeam } from "./team.tsx";

const ITEM = "/api/v1/boards/{board_id}";
const LIMIT = 200;

async function readChoices(signal: AbortSignal): Promise<Choices> {
  const query = { limit: LIMIT };
  const [groups, gateways] = await Promise.all([
    api.get("/api/v1/board-groups", { params: { query }, signal }),
    isAdmin.value ? api.get("/api/v1/gateways", { params: { query }, signal }) : { items: [] },
  ]);
  return { groups: groups.items, gateways: gateways.items };
}

/** Shows how a board works: its rules, its goal and its agents, and the actions that cannot be undone. */
export function BoardSettings({ board_id }: { board_id: string }) {
  const read = (signal: AbortSignal) => api.get(ITEM, { params: { path: { board_id } }, signal });
  const {
    data: board,
    error,
    reload,
  } = useResource(read, [board_id], ({ type, id }) => type === "board" && id === board_id, true);
  const choices = useResource(readChoices, [board_id], () => false, true);
  return (
    <main class="view">
      <a href={toBoard(board_id)}>Back to the board</a>
      <div class="view-intro">
        <h1 dir="auto">{board ? `Settings of ${board.name}` : "Settings"}</h1>
        {board && <FollowingBoard board_id={board_id} />}
      </div>
      <Problem error={error} retry={reload} />
      <Problem error={choices.error} retry={choices.reload} />
      {!board && !error && <Loading what="the settings" />}
      {board && (
        <>
          <Pause board_id={board_id} />
          {choices.data && <Part title="Board" board={board} fields={generalFields(board, choices.data)} onSaved={reload} />}
          <Part title="Rules" board={board} fields={RULE_FIELDS} onSaved={reload} />
          <Part title="Goal" board={board} fields={GOAL_FIELDS} onSaved={reload}>
            <a href={toBoardView(board_id, "onboarding")}>Let the main agent ask for the goal</a>
          </Part>
          <BoardTeam board={board} />
          <BoardMemory board={board} />
          {canWrite(board_id) && <Danger board={board} />}
        </>
      )}
    </main>
  );
}

interface PartProps {
  title: string;
  board: Board;
  fields: readonly FieldSpec[];
  onSaved: () => Promise<void>;
  children?: preact.ComponentChildren;
}

function Part({ title, board, fields, onSaved, children }: PartProps) {
  const save = (changed: Parameters<typeof toBody>[0]) =>
    api.patch(ITEM, { params: { path: { board_id: board.id } }, body: toBody(changed) });
  return (
    <section class="card-panel">
      <h2>{title}</h2>
      {children}
      {canWrite(board.id) ? (
        <Form
          name={`board.${title}.${board.id}`}
          fields={fields}
          start={toTyped(board)}
          label="Save"
          submit={(_typed, changed) => save(changed)}
          onDone={() => {
            showInfo("The board was changed.");
            void onSaved();
          }}
        />
      ) : (
        <p class="muted">You may read this board, but not change it.</p>
      )}
    </section>
  );
}

function Danger({ board }: { board: Board }) {
  return (
    <section class="card-panel danger-zone">
      <h2>Danger zone</h2>
      <p>Removing the board removes its tasks with their comments and files, its webhooks, and its agents.</p>
      <Confirm
        label="Remove the board"
        question={`Type “${board.name}” to remove it.`}
        confirm="Remove for ever"
        failure="The board was not removed"
        typed={board.name}
        act={() => api.delete(ITEM, { params: { path: { board_id: board.id } } })}
        onDone={async () => {
          await loadBoards();
          replace(toView("home"));
        }}
      />
    </section>
  );
}
