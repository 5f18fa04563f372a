import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { PRIORITIES } from "../types.ts";
import { lazy } from "../ui/lazy.tsx";
import { choose, isFiltered, options, SORT_NAMES } from "./options.ts";
import { agents, usedTags } from "./store.ts";

const SavedViews = lazy("your views", async () => (await import("../saved-view/saved-views.tsx")).SavedViews);

/** Chooses which tasks of a board are shown, and in which order. */
export function Toolbar({ board_id, search }: { board_id: string; search: RefObject<HTMLInputElement | null> }) {
  const [isOpen, setOpen] = useState(false);
  const { text, agent, tag, priority, sort, isList } = options.value;
  return (
    <div class="board-tools" role="search">
      <input
        ref={search}
        type="search"
        placeholder="Filter"
        aria-label="Filter the cards"
        value={text}
        onInput={(event) => choose({ q: event.currentTarget.value })}
        onKeyDown={(event) => event.key === "Escape" && (choose({ q: "" }), event.currentTarget.blur())}
      />
      <select aria-label="Assignee of the cards" value={agent} onChange={(event) => choose({ agent: event.currentTarget.value })}>
        <option value="">Everybody</option>
        <option value="nobody">Nobody</option>
        {[...agents.value.values()].map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      {usedTags.value.length > 0 && (
        <select aria-label="Tag of the cards" value={tag} onChange={(event) => choose({ tag: event.currentTarget.value })}>
          <option value="">Every tag</option>
          {usedTags.value.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <select
        aria-label="Priority of the cards"
        value={priority}
        onChange={(event) => choose({ priority: event.currentTarget.value })}
      >
        <option value="">Every priority</option>
        {PRIORITIES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        aria-label="Order of the cards"
        value={sort}
        onChange={(event) => choose({ sort: event.currentTarget.value === "work" ? "" : event.currentTarget.value })}
      >
        {Object.entries(SORT_NAMES).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <button type="button" aria-pressed={isList} onClick={() => choose({ view: isList ? "" : "list" })}>
        List
      </button>
      <button type="button" onClick={() => setOpen(true)}>
        Views
      </button>
      {isOpen && <SavedViews board_id={board_id} onClose={() => setOpen(false)} />}
      {isFiltered.value && (
        <button type="button" class="plain" onClick={() => choose({ q: "", agent: "", tag: "", priority: "" })}>
          Show all
        </button>
      )}
    </div>
  );
}
