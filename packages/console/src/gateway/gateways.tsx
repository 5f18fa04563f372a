import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toView } from "../route.ts";
import type { Gateway } from "../types.ts";
import { FormButton } from "../ui/form-button.tsx";
import { List } from "../ui/list.tsx";
import { NEW, NEW_FIELDS, toNewBody } from "./fields.ts";

const LIMIT = 200;

export function GatewayState({ gateway }: { gateway: Gateway }) {
  return (
    <>
      <span class={gateway.connected ? "badge success" : "badge warning"}>
        {gateway.connected ? "connected" : gateway.kind === "pull" ? "no agent was seen" : "does not answer"}
      </span>
      <span class="badge">{gateway.kind === "pull" ? "pull" : "OpenClaw host"}</span>
      {gateway.version && <span class="badge">{gateway.version}</span>}
    </>
  );
}

export function Gateways() {
  const read = (signal: AbortSignal) => api.get("/api/v1/gateways", { params: { query: { limit: LIMIT } }, signal });
  const from = useResource(read, [], ({ type }) => type === "agent");
  return (
    <main class="view">
      <div class="view-intro">
        <h1>Gateways</h1>
        <FormButton
          title="Register a gateway"
          isPrimary
          name="gateway.new"
          fields={NEW_FIELDS}
          start={NEW}
          label="Register"
          submit={(typed) => api.post("/api/v1/gateways", { body: toNewBody(typed) })}
          onDone={from.reload}
        />
      </div>
      <p class="muted">
        A gateway is where agents run: a host that the service connects to, or any place whose agents ask for work.
      </p>
      <List
        what="the gateways"
        from={from}
        empty={["There are no gateways.", "The first agent that you connect makes a pull gateway; a host is registered here."]}
      >
        {(gateway) => (
          <div class="row" key={gateway.id}>
            <div class="grow">
              <span class="row-head">
                <a href={toView("gateways", gateway.id)} dir="auto">
                  {gateway.name}
                </a>
                <GatewayState gateway={gateway} />
              </span>
              {gateway.url && <span class="muted">{gateway.url}</span>}
              {gateway.last_error && (
                <span class="danger-text text" dir="auto">
                  {gateway.last_error}
                </span>
              )}
            </div>
          </div>
        )}
      </List>
    </main>
  );
}
