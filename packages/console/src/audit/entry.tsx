import type { AuditEvent } from "../types.ts";
import { Time, toMoment } from "../ui/time.tsx";
import { actionName } from "./actions.ts";

type Who = AuditEvent["actor"];

const PEOPLE: Record<string, string> = { system: "The service", public: "Somebody without a credential" };
const nameOf = ({ type, name, id }: Who): string => name ?? PEOPLE[type] ?? (id ? `${type} ${id}` : type);

const toText = (value: unknown): string =>
  value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);

/** Shows the old and the new value, or a single value if the audited object was created or removed. */
function Change({ value }: { value: unknown }) {
  const [before, after] = Array.isArray(value) && value.length === 2 ? value : [null, value];
  return (
    <>
      {before !== null && before !== undefined && <del>{toText(before)}</del>} <span dir="auto">{toText(after)}</span>
    </>
  );
}

interface EntryProps {
  entry: AuditEvent;
  onOnly: (change: { actor?: string; target?: string }) => void;
}

/** Shows one entry: who did what to what. An unfolded entry also shows the values and where the request came from. */
export function Entry({ entry, onOnly }: EntryProps) {
  const { actor, target, changes, at, action } = entry;
  const isFailure = action.endsWith(".failed");
  const details: [string, string | null][] = [
    ["When", toMoment(at)],
    ["Address", entry.address],
    ["Program", entry.user_agent],
    ["Request", entry.trace_id],
    ["Entry", `${entry.seq} (${entry.id})`],
    ["Hash", entry.hash],
  ];
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong class={isFailure ? "danger-text" : ""}>{actionName(action)}</strong>
          {target.name && <span dir="auto">{target.name}</span>}
        </span>
        <span class="muted" dir="auto">
          {nameOf(actor)} · <Time at={at} />
        </span>
        <details>
          <summary>Details</summary>
          <dl class="details">
            {Object.entries(changes).map(([field, value]) => (
              <div class="contents" key={field}>
                <dt>{field}</dt>
                <dd>
                  <Change value={value} />
                </dd>
              </div>
            ))}
            {details.map(
              ([label, text]) =>
                text !== null && (
                  <div class="contents" key={label}>
                    <dt>{label}</dt>
                    <dd dir="auto">{text}</dd>
                  </div>
                ),
            )}
          </dl>
          <div class="actions wrap">
            {actor.id && (
              <button type="button" class="small" onClick={() => onOnly({ actor: actor.id! })}>
                Only by {nameOf(actor)}
              </button>
            )}
            {target.id && (
              <button type="button" class="small" onClick={() => onOnly({ target: target.id! })}>
                Only about {nameOf(target)}
              </button>
            )}
          </div>
        </details>
      </div>
    </div>
  );
}
