import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { isCreating } from "../board/creating.ts";
import { LINKS, shownLinks } from "../navigation.tsx";
import { organizationTabs } from "../organization/tabs.ts";
import { personalTabs } from "../personal/tabs.ts";
import { go, toBoard, toBoardView, toView } from "../route.ts";
import { boards, canWrite, isAdmin } from "../session.ts";
import { nextTheme } from "../theme.ts";
import { Dialog } from "../ui/parts.tsx";
import { type FoundTasks, MAX_BOARDS, readAgents, searchTasks } from "./search.ts";

export interface Target {
  key: string;
  kind: string;
  label: string;
  act: () => void;
}

const MAX_SHOWN = 12;
/** The places in the list that are kept for tasks when more than these are found. */
const TASK_PLACES = 5;
/** How long typing must pause before a request is sent, so that not every letter causes one. */
const TYPING_MS = 150;

const page = (label: string, address: string): Target => ({ key: address, kind: "Page", label, act: () => go(address) });

/** Names a tab of a page, with the other words by which people look for it. */
const tabLabel = (of: string, { label, content }: { label: string; content?: string }): string =>
  `${of}: ${label.toLowerCase()}${content ? ` (${content})` : ""}`;

/** Returns the pages, boards and actions, which need no request. */
function knownTargets(): Target[] {
  const list = boards.value ?? [];
  return [
    ...list.map(({ id, name }) => ({ key: id, kind: "Board", label: name, act: () => go(toBoard(id)) })),
    ...shownLinks().map(({ view, label }) => page(label, toView(view))),
    ...list.map(({ id, name }) => page(`Settings of ${name}`, toBoardView(id, "settings"))),
    ...list.map(({ id, name }) => page(`Goal of ${name}`, toBoardView(id, "onboarding"))),
    ...organizationTabs().map((tab) => page(tabLabel("Organization", tab), toView("organization", tab.name))),
    ...personalTabs().map((tab) => page(tabLabel("You", tab), toView("personal", tab.name))),
    ...(isAdmin.value ? [page("New board", toView("start")), page("Skill packs", toView("skills", "packs"))] : []),
    ...(isAdmin.value ? [page("Souls", toView("souls"))] : []),
    ...list
      .filter(({ id }) => canWrite(id))
      .map(({ id, name }) => ({
        key: `new-${id}`,
        kind: "Action",
        label: `New task on ${name}`,
        act: () => {
          go(toBoard(id));
          isCreating.value = true;
        },
      })),
    { key: "theme", kind: "Action", label: "Light, dark or as the system", act: nextTheme },
  ];
}

/** Returns 0 if the label begins with the query, 1 if it contains each word of the query, and otherwise -1. */
function rank(label: string, query: string): number {
  const text = label.toLowerCase();
  if (text.startsWith(query)) return 0;
  return query.split(/\s+/).every((word) => text.includes(word)) ? 1 : -1;
}

function match(targets: readonly Target[], query: string): Target[] {
  const ranked = targets.map((target) => ({ target, at: rank(target.label, query) })).filter(({ at }) => at >= 0);
  return ranked.toSorted((one, other) => one.at - other.at).map(({ target }) => target);
}

/** Finds a task, board, agent, page or action by a few typed letters, and opens or starts it. */
export function Jump({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { found, tasks, isSearching, problem, searchAll } = useFound(text);
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const current = Math.min(at, found.length - 1);
  const choose = (target: Target | undefined) => {
    if (!target) return;
    onClose();
    target.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((current + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") choose(found[current]);
    else return;
    event.preventDefault();
  };
  useEffect(() => list.current?.children[current]?.scrollIntoView({ block: "nearest" }), [current]);
  return (
    <Dialog title="Jump to" onClose={onClose}>
      <input
        ref={input}
        autofocus
        role="combobox"
        aria-label="Task, board, agent, page or action"
        aria-expanded="true"
        aria-controls="jump-list"
        aria-activedescendant={found[current] ? `jump-${current}` : undefined}
        autocomplete="off"
        placeholder="Task, board, agent, page or action"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul class="jump" id="jump-list" role="listbox" aria-label="Found" ref={list}>
        {found.map((target, index) => (
          <li
            key={target.key}
            id={`jump-${index}`}
            role="option"
            aria-selected={index === current}
            onPointerMove={() => setAt(index)}
            onClick={() => choose(target)}
          >
            <span class="muted">{target.kind}</span> <span dir="auto">{target.label}</span>
          </li>
        ))}
      </ul>
      <p class="muted" role="status">
        {isSearching ? "Searching for tasks … " : found.length === 0 ? "Nothing was found. " : ""}
        {tasks && (
          <Searched
            tasks={tasks}
            searchAll={() => {
              searchAll();
              input.current?.focus();
            }}
          />
        )}
      </p>
      {problem !== null && <p class="danger-text">{problem}</p>}
    </Dialog>
  );
}

/** Says on how many boards tasks were searched if these are not all boards. */
function Searched({ tasks: { searched }, searchAll }: { tasks: FoundTasks; searchAll: () => void }) {
  const total = boards.value?.length ?? 0;
  if (searched >= total) return null;
  return (
    <>
      Tasks were searched on {searched} of {total} boards.{" "}
      <button type="button" class="small" onClick={searchAll}>
        Search all boards
      </button>
    </>
  );
}

interface Found {
  found: Target[];
  /** The result of the search for tasks; null until there is one. */
  tasks: FoundTasks | null;
  /** Whether the service has not answered the search yet. */
  isSearching: boolean;
  /** What was not found because a request failed. */
  problem: string | null;
  searchAll: () => void;
}

/** Returns what matches the text. Matches that are already loaded come at once; tasks follow when the service has found them. */
function useFound(text: string): Found {
  const query = text.trim().toLowerCase();
  const [agents, setAgents] = useState<Target[]>([]);
  const [agentProblem, setAgentProblem] = useState<string | null>(null);
  const [answer, setAnswer] = useState<{ to: string; tasks: FoundTasks } | null>(null);
  const [maxBoards, setMaxBoards] = useState(MAX_BOARDS);
  const search = `${maxBoards} ${query}`;
  useEffect(() => {
    readAgents().then(setAgents, (reason: unknown) => setAgentProblem(`Agents were not read: ${messageOf(reason)}`));
  }, []);
  useEffect(() => {
    if (!query) return setAnswer(null);
    const stop = new AbortController();
    const send = async () => {
      const result = await searchTasks(query, maxBoards, stop.signal);
      if (!stop.signal.aborted) setAnswer({ to: search, tasks: result });
    };
    const timer = setTimeout(send, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [search]);
  const known = knownTargets();
  const searchAll = () => setMaxBoards(Infinity);
  if (!query) {
    const found = known.slice(0, Math.max(MAX_SHOWN, LINKS.length));
    return { found, tasks: null, isSearching: false, problem: agentProblem, searchAll };
  }
  const isSearching = answer?.to !== search;
  const tasks = isSearching ? null : answer.tasks;
  // Until the answer comes, tasks of an earlier search are shown if they match the text too.
  const targets = isSearching ? match(answer?.tasks.targets ?? [], query) : answer.tasks.targets;
  const matches = match([...known, ...agents], query).slice(0, MAX_SHOWN - Math.min(TASK_PLACES, targets.length));
  const taskProblem = tasks?.error ? `Tasks of some boards were not found: ${tasks.error}` : null;
  const found = [...matches, ...targets].slice(0, MAX_SHOWN);
  return { found, tasks, isSearching, problem: taskProblem ?? agentProblem, searchAll };
}
