import { api } from "../api.ts";
import { toSize } from "../file/read.ts";
import { useResource } from "../resource.ts";
import { toView } from "../route.ts";
import type { PayloadUsage } from "../types.ts";
import { Problem } from "../ui/parts.tsx";

/** Shows how much storage the payloads of all webhooks use. */
export function PayloadUse() {
  const { data, error, reload } = useResource(
    (signal) => api.get("/api/v1/webhooks/payload-usage", { signal }),
    [],
    () => false,
  );
  return (
    <section>
      <h2>Webhook payloads</h2>
      <Problem error={error} retry={reload} />
      {data && <Room usage={data} />}
    </section>
  );
}

function Room({ usage: { used, limit } }: { usage: PayloadUsage }) {
  if (limit === null) return <p class="muted">All payloads together use {toSize(used)}. There is no limit.</p>;
  return (
    <p class="muted">
      All payloads together use {toSize(used)} of {toSize(limit)}. When the limit is reached, posts are refused until old payloads
      expire or <a href={toView("webhooks")}>webhooks</a> are removed.
    </p>
  );
}
