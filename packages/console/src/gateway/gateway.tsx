import { useState } from "preact/hooks";
import { api, messageOf } from "../api.ts";
import { useResource } from "../resource.ts";
import { go, toView } from "../route.ts";
import type { Gateway } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { CHANGE_FIELDS, toBody, toTyped } from "./fields.ts";
import { GatewayState } from "./gateways.tsx";
import { ConnectionHistory } from "./history.tsx";
import { Methods } from "./methods.tsx";
import { Sessions } from "./sessions.tsx";
import { Sync } from "./sync.tsx";

const ITEM = "/api/v1/gateways/{gateway_id}";

export function GatewayPage({ gateway_id }: { gateway_id: string }) {
  const params = { path: { gateway_id } };
  const read = (signal: AbortSignal) => api.get(ITEM, { params, signal });
  const { data: gateway, error, reload } = useResource(read, [gateway_id], ({ type }) => type === "agent");
  return (
    <main class="view">
      <a href={toView("gateways")}>All gateways</a>
      <Problem error={error} retry={reload} />
      {!gateway && !error && <Loading what="the gateway" />}
      {gateway && (
        <>
          <div class="view-intro">
            <div class="row-head">
              <h1 dir="auto">{gateway.name}</h1>
              <GatewayState gateway={gateway} />
            </div>
            <div class="actions">
              <FormButton
                title="Change"
                heading="Change the gateway"
                name={`gateway.${gateway_id}`}
                fields={CHANGE_FIELDS}
                start={toTyped(gateway)}
                label="Save"
                submit={(_typed, changed) => api.patch(ITEM, { params, body: toBody(changed) })}
                onDone={reload}
              />
              <Confirm
                label="Remove"
                question="Its main agent is removed from the host too."
                confirm="Remove the gateway"
                failure="The gateway was not removed"
                act={() => api.delete(ITEM, { params })}
                onDone={() => go(toView("gateways"))}
              />
            </div>
          </div>
          <Details gateway={gateway} />
          {gateway.kind === "openclaw" && (
            <>
              <Test gateway={gateway} onTested={reload} />
              <ConnectionHistory gateway={gateway} />
              <Sync gateway={gateway} />
              <Sessions gateway_id={gateway_id} />
              <Methods gateway_id={gateway_id} />
            </>
          )}
        </>
      )}
    </main>
  );
}

function Details({ gateway }: { gateway: Gateway }) {
  const { url, workspace_root, token, sync_interval_minutes, last_error, created_at } = gateway;
  return (
    <dl class="details card-panel">
      {gateway.kind === "openclaw" && (
        <>
          <dt>Address</dt>
          <dd>{url}</dd>
          <dt>Folder</dt>
          <dd>{workspace_root}</dd>
          <dt>Token</dt>
          <dd>{token ?? "none"}</dd>
          <dt>Synced</dt>
          <dd>{sync_interval_minutes === null ? "only when somebody asks" : `every ${sync_interval_minutes} minutes`}</dd>
        </>
      )}
      <dt>Registered</dt>
      <dd>
        <Time at={created_at} />
      </dd>
      {last_error && (
        <>
          <dt>Last problem</dt>
          <dd class="danger-text text" dir="auto">
            {last_error}
          </dd>
        </>
      )}
    </dl>
  );
}

/**
 * Asks the service to contact the host, which takes at most ten seconds. A failing host is shown as a result, not as an error.
 */
function Test({ gateway, onTested }: { gateway: Gateway; onTested: () => void }) {
  const [answer, setAnswer] = useState<{ isWell: boolean; text: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    setAnswer(null);
    try {
      const status = await api.get("/api/v1/gateways/status", { params: { query: { gateway_id: gateway.id } } });
      const works = `The host answers${status.version ? ` with version ${status.version}` : ""} and has ${status.sessions_count ?? 0} sessions.`;
      setAnswer({ isWell: status.connected, text: [status.connected ? works : "", status.error ?? ""].join(" ").trim() });
      onTested();
    } catch (error) {
      setAnswer({ isWell: false, text: messageOf(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Connection</h2>
        <button type="button" disabled={isBusy} onClick={test}>
          {isBusy ? "Testing …" : "Test the connection"}
        </button>
      </div>
      <div role="status">{answer && <p class={answer.isWell ? "" : "danger-text"}>{answer.text}</p>}</div>
    </section>
  );
}
