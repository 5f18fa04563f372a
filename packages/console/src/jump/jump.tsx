import { useEffect, useRef, useState } from "preact/hooks";
import { isCreating } from "../board/creating.ts";
import { LINKS, shownLinks } from "../navigation.tsx";
import { go, toBoard, toBoardView, toView } from "../route.ts";
import { boards, canWrite, isAdmin } from "../session.ts";
import { nextTheme } from "../theme.ts";
import { Dialog } from "../ui/parts.tsx";
import { readAgents, searchTasks } from "./search.ts";

export interface Target {
  key: string;
  kind: string;
  label: string;
  act: () => void;
}

const MAX_SHOWN = 12;
/** How long typing must pause before a request is sent, so that not every letter causes one. */
const TYPING_MS = 150;

const page = (label: string, address: string): Target => ({ key: address, kind: "Page", label, act: () => go(address) });

/** Returns the pages, boards and actions, which need no request. */
function knownTargets(): Target[] {
  const list = boards.value ?? [];
  return [
    ...list.map(({ id, name }) => ({ key: id, kind: "Board", label: name, act: () => go(toBoard(id)) })),
    ...shownLinks().map(({ view, label }) => page(label, toView(view))),
    page("How you are notified", toView("personal", "notifications")),
    ...list.map(({ id, name }) => page(`Settings of ${name}`, toBoardView(id, "settings"))),
    ...["members", "tags", "fields", "groups", "budgets", "files", "general", ...(isAdmin.value ? ["keys", "audit"] : [])].map(
      (tab) => page(`Organization: ${tab === "fields" ? "custom fields" : tab}`, toView("organization", tab)),
    ),
    page("Your keys", toView("personal", "keys")),
    ...(isAdmin.value ? [page("New board", toView("start")), page("Skill packs", toView("skills", "packs"))] : []),
    ...(isAdmin.value ? [page("Invite a person", toView("organization", "invites")), page("Souls", toView("souls"))] : []),
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
  const found = useFound(text);
  const list = useRef<HTMLUListElement>(null);
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
        {found.length === 0 ? "Nothing was found." : ""}
      </p>
    </Dialog>
  );
}

/** Returns what matches the text. Matches that are already loaded come at once; tasks follow when the service has found them. */
function useFound(text: string): Target[] {
  const query = text.trim().toLowerCase();
  const [agents, setAgents] = useState<Target[]>([]);
  const [tasks, setTasks] = useState<Target[]>([]);
  useEffect(() => {
    readAgents().then(setAgents, () => {});
  }, []);
  useEffect(() => {
    if (!query) return setTasks([]);
    const stop = new AbortController();
    const timer = setTimeout(() => searchTasks(query, stop.signal).then(setTasks, () => {}), TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [query]);
  const known = knownTargets();
  if (!query) return known.slice(0, Math.max(MAX_SHOWN, LINKS.length));
  return [...match([...known, ...agents], query), ...tasks].slice(0, MAX_SHOWN);
}
