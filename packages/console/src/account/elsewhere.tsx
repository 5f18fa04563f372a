import { callAuth, leaveToConnect, type Service, SERVICES } from "../accounts.ts";
import { readAuth } from "../config.ts";
import { useResource } from "../resource.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Problem } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";

const isService = (name: string): name is Service => name in SERVICES;

/** Reads which other services may sign people in here, each with the id of this person's connected account, or null. */
async function read(): Promise<{ service: Service; connected_id: string | null }[]> {
  const [auth, accounts] = await Promise.all([
    readAuth(),
    callAuth<{ id: string; providerId: string }[]>("GET", "/list-accounts"),
  ]);
  const offered = auth.mode === "accounts" ? auth.ways.filter(isService) : [];
  return offered.map((service) => ({
    service,
    connected_id: accounts.find(({ providerId }) => providerId === service)?.id ?? null,
  }));
}

/** Shows the accounts at other services with which the person can sign in. */
export function Elsewhere() {
  const { data, error, reload } = useResource(read, [], () => false, true);
  if (error === null && !data?.length) return null;
  return (
    <section class="card-panel">
      <h2>Accounts elsewhere</h2>
      <Problem error={error} retry={reload} />
      <div class="rows">
        {data?.map(({ service, connected_id }) => (
          <div class="row" key={service}>
            <strong class="grow">{SERVICES[service]}</strong>
            {connected_id ? (
              <Confirm
                label="Remove"
                question="It does not sign you in any more."
                confirm={`Remove ${SERVICES[service]}`}
                failure="The account was not removed"
                act={() => callAuth("POST", "/unlink-account", { accountId: connected_id })}
                onDone={reload}
              />
            ) : (
              <button type="button" onClick={() => attempt("The account was not added", () => leaveToConnect(service))}>
                Sign in with {SERVICES[service]} too
              </button>
            )}
          </div>
        ))}
      </div>
    </section>
  );
}
