import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { Loading, Problem } from "../ui/parts.tsx";

/** Shows the methods and events that the host supports. The host reports them when the service connects. */
export function Methods({ gateway_id }: { gateway_id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Methods and events of the host</summary>
      {isOpen && <Opened gateway_id={gateway_id} />}
    </details>
  );
}

function Opened({ gateway_id }: { gateway_id: string }) {
  const read = (signal: AbortSignal) => api.get("/api/v1/gateways/commands", { params: { query: { gateway_id } }, signal });
  const { data, error, reload } = useResource(read, [gateway_id], () => false, true);
  return (
    <div class="panel">
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the methods" />}
      {data && (
        <dl class="details">
          <dt>Protocol</dt>
          <dd>{data.protocol_version}</dd>
          <dt>Methods</dt>
          <dd>{data.methods.join(", ")}</dd>
          <dt>Events</dt>
          <dd>{data.events.join(", ")}</dd>
        </dl>
      )}
    </div>
  );
}
