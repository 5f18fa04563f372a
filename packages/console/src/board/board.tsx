import { useEffect, useRef } from "preact/hooks";
import { visible } from "../live.ts";
import { useRetry } from "../resource.ts";
import { canWrite } from "../session.ts";
import { go, route, toBoard, toBoardView, toView, withSameQuery } from "../route.ts";
import { STATUSES } from "../types.ts";
import { lazy } from "../ui/lazy.tsx";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { Story } from "../task/story.tsx";
import { Column } from "./column.tsx";
import { isCreating } from "./creating.ts";
import { enableDragging } from "./drag.ts";
import { closeBoard, openBoard } from "./follow.ts";
import { focusCard, focusFirstCard, handleCardKey } from "./keys.ts";
import { options } from "./options.ts";
import { Toolbar } from "./toolbar.tsx";
import { board, columns, isShortened, moveTask, problem, tasks } from "./store.ts";

const ListView = lazy("the list", async () => (await import("./list-view.tsx")).ListView);
const loadNewTask = async () => (await import("./new-task.tsx")).NewTask;
const NewTask = lazy("the form", loadNewTask);
/** The form's script is loaded this long after the board is drawn, so that the form opens at once. */
const PRELOAD_MS = 1_500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function BoardView({ board_id, task_id }: { board_id: string; task_id: string | null }) {
  const container = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const mayWrite = canWrite(board_id);
  useEffect(() => {
    void openBoard(board_id);
    return closeBoard;
  }, [board_id]);

  useRetry(problem.value, () => openBoard(board_id));

  const isReady = board.value?.id === board_id;
  const { isList } = options.value;
  useEffect(() => {
    if (!isReady || !container.current) return;
    // On a phone the first columns fill the screen even when they are empty, so the first column with a card is scrolled into
    // view.
    container.current.querySelector(".column:not(.is-empty)")?.scrollIntoView({ inline: "start", block: "nearest" });
    return enableDragging(container.current, (id, status) => {
      const task = tasks.value.get(id);
      if (task) void moveTask(task, status);
    });
  }, [isReady, isList]);

  useEffect(() => {
    if (!isReady || !mayWrite) return;
    const timer = setTimeout(() => visible.value && loadNewTask().catch(() => {}), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, [isReady, mayWrite]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (handleCardKey(event, mayWrite)) return event.preventDefault();
      if (event.ctrlKey || event.metaKey || event.altKey || route.value.task_id) return;
      if (event.key === "/") search.current?.focus();
      else if (event.key === "c" && mayWrite) isCreating.value = true;
      else if (!event.key.startsWith("Arrow") || document.activeElement !== document.body || !focusFirstCard()) return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [mayWrite]);

  if (problem.value !== null)
    return (
      <main class="view">
        <Problem error={problem.value} retry={() => void openBoard(board_id)} />
      </main>
    );
  if (!isReady)
    return (
      <main class="view">
        <Loading what="the board" />
      </main>
    );
  const { name, description } = board.value!;
  const close = () => {
    go(withSameQuery(toBoard(board_id)));
    if (task_id) focusCard(task_id);
  };
  return (
    <main class="board-view">
      <header class="view-head">
        <div class="view-title">
          <h1 dir="auto">{name}</h1>
          <p class="muted" dir="auto" title={description}>
            {description}
          </p>
        </div>
        <div class="view-actions">
          <a class="button" href={toBoardView(board_id, "settings")}>
            Settings
          </a>
          {mayWrite && (
            <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
              New task
            </button>
          )}
        </div>
      </header>
      {tasks.value.size > 0 && <Toolbar board_id={board_id} search={search} />}
      {isShortened.value && <p class="note">This board has more tasks than an answer may have. The newest ones are shown.</p>}
      {tasks.value.size === 0 ? (
        <Empty title="This board has no tasks yet.">
          {mayWrite ? (
            <p>
              Create one with “New task” or the key <kbd>c</kbd>, or <a href={toView("agents")}>connect an agent</a> that does.
            </p>
          ) : (
            <p>They appear here as soon as somebody creates one.</p>
          )}
        </Empty>
      ) : isList ? (
        <ListView mayWrite={mayWrite} />
      ) : (
        <div class="board" ref={container} data-readonly={mayWrite ? undefined : ""}>
          {STATUSES.map((status) => (
            <Column key={`${board_id}${status}`} status={status} tasks={columns.value[status]} />
          ))}
        </div>
      )}
      {task_id && <Story key={task_id} board_id={board_id} task_id={task_id} mayWrite={mayWrite} onClose={close} />}
      {isCreating.value && <NewTask board_id={board_id} onClose={() => (isCreating.value = false)} />}
    </main>
  );
}
