import { useState } from "preact/hooks";
import { replace, route, withQuery } from "../route.ts";
import { List } from "../ui/list.tsx";
import { usePages } from "../ui/pages.ts";
import { Select } from "../ui/select.tsx";
import { attempt } from "../ui/toast.tsx";
import { ACTION_NAMES, type AuditQuery } from "./actions.ts";
import { Check } from "./check.tsx";
import { Entry } from "./entry.tsx";
import { type ExportFormat, PAGE, readAudit, saveAudit } from "./read.ts";

const FILTERS = ["action", "actor", "target", "since", "until"] as const;
type Filter = (typeof FILTERS)[number];

/** The filters are in the address, so that a search can be linked to. */
const valueOf = (filter: Filter): string => route.value.query.get(filter) ?? "";
const choose = (change: Partial<Record<Filter, string>>) => replace(withQuery(route.value.query, change));

/**
 * Returns when a day begins in the person's time zone, or when the day that is `later` days after it begins. Text that is not a
 * date is sent unchanged, so that the service refuses it.
 */
function startOf(day: string, later = 0): string {
  const time = new Date(`${day}T00:00`);
  // A day of the clock change has 23 or 25 hours.
  time.setDate(time.getDate() + later);
  return Number.isNaN(time.getTime()) ? day : time.toISOString();
}

function toQuery(): AuditQuery {
  const [action, actor, target, since, until] = FILTERS.map(valueOf);
  return {
    ...(action ? { action: action as NonNullable<AuditQuery["action"]> } : {}),
    ...(actor ? { actor_id: actor } : {}),
    ...(target ? { target_id: target } : {}),
    ...(since ? { since: startOf(since) } : {}),
    ...(until ? { until: startOf(until, 1) } : {}),
  };
}

/** Shows who changed members, rights, keys, secrets, settings and budgets. */
export function Audit() {
  const query = toQuery();
  const from = usePages((signal) => readAudit(query, signal), [JSON.stringify(query)], PAGE);
  const [isExporting, setExporting] = useState(false);
  const save = async (format: ExportFormat) => {
    setExporting(true);
    await attempt("The log was not exported", () => saveAudit(format, query.since));
    setExporting(false);
  };
  const isFiltered = Object.keys(query).length > 0;
  return (
    <section>
      <div class="view-intro">
        <h2>Audit log</h2>
        <div class="actions">
          <button type="button" onClick={() => void from.reload()}>
            Read again
          </button>
          <button type="button" disabled={isExporting} onClick={() => save("csv")}>
            Export as CSV
          </button>
          <button type="button" disabled={isExporting} onClick={() => save("ndjson")}>
            Export as JSON
          </button>
        </div>
      </div>
      <div class="filters" role="search">
        <Select
          label="Action"
          value={valueOf("action")}
          options={[["", "Every action"], ...Object.entries(ACTION_NAMES)]}
          onChoose={(action) => choose({ action })}
        />
        <label class="inline">
          From
          <input type="date" value={valueOf("since")} onChange={(event) => choose({ since: event.currentTarget.value })} />
        </label>
        <label class="inline">
          to
          <input type="date" value={valueOf("until")} onChange={(event) => choose({ until: event.currentTarget.value })} />
        </label>
        {isFiltered && (
          <button type="button" class="plain" onClick={() => choose(Object.fromEntries(FILTERS.map((name) => [name, ""])))}>
            Show all
          </button>
        )}
      </div>
      {(valueOf("actor") || valueOf("target")) && (
        <p class="muted">
          Only entries {valueOf("actor") ? "by one actor" : ""} {valueOf("target") ? "about one thing" : ""}.
        </p>
      )}
      {isFiltered && <p class="muted">An export has every entry from the first day on, whatever else is chosen here.</p>}
      <List
        what="the log"
        from={from}
        empty={["No entry matches.", "What changes rights, credentials and settings is recorded."]}
      >
        {(entry) => <Entry key={entry.id} entry={entry} onOnly={choose} />}
      </List>
      {from.more && (
        <button type="button" onClick={from.more}>
          Show older entries
        </button>
      )}
      <Check onDone={() => void from.reload()} />
    </section>
  );
}
