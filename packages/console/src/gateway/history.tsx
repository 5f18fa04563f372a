import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Gateway } from "../types.ts";
import { List } from "../ui/list.tsx";
import { Time } from "../ui/time.tsx";

const SHOWN = 20;

const STATES = {
  connected: ["badge success", "connected"],
  warned: ["badge warning", "connected, with a warning"],
  disconnected: ["badge danger", "does not answer"],
} as const;

/** The latest changes of the connection to a host: when it was lost, came back, or had another version. */
export function ConnectionHistory({ gateway: { id, connected, version } }: { gateway: Gateway }) {
  const read = (signal: AbortSignal) => {
    const params = { path: { gateway_id: id }, query: { limit: SHOWN } };
    return api.get("/api/v1/gateways/{gateway_id}/connectivity/changes", { params, signal });
  };
  // Each new entry comes with a change of `connected` or `version`. The page polls both, so their change reads the list again.
  const from = useResource(read, [id, connected, version], () => false, true);
  return (
    <section>
      <h2>History of the connection</h2>
      <List
        what="the history"
        from={{ ...from, data: from.data && { items: from.data.items } }}
        empty={["Nothing has changed yet.", "The service contacts the host every five minutes, and lists here what changes."]}
      >
        {(entry) => {
          const [style, label] = STATES[entry.state];
          return (
            <div key={entry.id} class="row">
              <div class="grow">
                <span class="row-head">
                  <span class={style}>{label}</span>
                  {entry.version && <span dir="auto">version {entry.version}</span>}
                  <span class="muted">
                    <Time at={entry.created_at} />
                  </span>
                </span>
                {entry.error && (
                  <p class="text muted" dir="auto">
                    {entry.error}
                  </p>
                )}
              </div>
            </div>
          );
        }}
      </List>
    </section>
  );
}
