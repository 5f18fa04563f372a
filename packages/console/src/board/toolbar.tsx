import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { PRIORITIES } from "../types.ts";
import { lazy } from "../ui/lazy.tsx";
import { optionOf, Select } from "../ui/select.tsx";
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
      <Select
        label="Assignee of the cards"
        value={agent}
        options={[["", "Everybody"], ["nobody", "Nobody"], ...[...agents.value.values()].map(optionOf)]}
        onChoose={(agent) => choose({ agent })}
      />
      {usedTags.value.length > 0 && (
        <Select
          label="Tag of the cards"
          value={tag}
          options={[["", "Every tag"], ...usedTags.value.map(optionOf)]}
          onChoose={(tag) => choose({ tag })}
        />
      )}
      <Select
        label="Priority of the cards"
        value={priority}
        options={[["", "Every priority"], ...PRIORITIES.map((name) => [name, name] as const)]}
        onChoose={(priority) => choose({ priority })}
      />
      <Select
        label="Order of the cards"
        value={sort}
        options={Object.entries(SORT_NAMES)}
        onChoose={(sort) => choose({ sort: sort === "work" ? "" : sort })}
      />
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
