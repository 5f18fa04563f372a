import { api, isStatus } from "../api.ts";
import { useResource } from "../resource.ts";
import type { SlackApp } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Form } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";

const PATH = "/api/v1/organizations/me/slack";

async function read(signal: AbortSignal): Promise<{ app: SlackApp | null }> {
  try {
    return { app: await api.get(PATH, { signal }) };
  } catch (error) {
    if (isStatus(error, 404)) return { app: null };
    throw error;
  }
}

/** Shows the Slack app that sends decisions to people of the organization as direct messages. */
export function Slack() {
  const { data, error, reload } = useResource(read, [], () => false);
  return (
    <>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the Slack app" />}
      {data && (
        <>
          {data.app && <Connected app={data.app} onChanged={reload} />}
          <Connect isConnected={data.app !== null} onChanged={reload} />
        </>
      )}
    </>
  );
}

function Connected({ app, onChanged }: { app: SlackApp; onChanged: () => Promise<void> }) {
  const { team_name, created_at, last_error, retry_at } = app;
  return (
    <section>
      <h2>Workspace</h2>
      <ul class="rows">
        <li class="row">
          <div class="grow">
            <span class="row-head">
              <strong dir="auto">{team_name}</strong>
              <span class={last_error === null ? "badge success" : "badge"}>{last_error === null ? "connected" : "waiting"}</span>
            </span>
            <span class="muted">
              Connected <Time at={created_at} />. Each person links their Slack user under You, Notifications.
            </span>
            {last_error !== null && (
              <span class="danger-text" dir="auto">
                {last_error} Messages wait.
                {retry_at !== null && (
                  <>
                    {" "}
                    Next attempt: <Time at={retry_at} />
                  </>
                )}
              </span>
            )}
          </div>
          <div class="actions wrap">
            <Confirm
              label="Disconnect"
              question="Nobody gets messages in Slack any more, and everybody has to link again."
              confirm={`Disconnect ${team_name}`}
              failure="The app was not disconnected"
              act={() => api.delete(PATH)}
              onDone={() => {
                showInfo("Slack is disconnected.");
                void onChanged();
              }}
            />
          </div>
        </li>
      </ul>
    </section>
  );
}

function Connect({ isConnected, onChanged }: { isConnected: boolean; onChanged: () => Promise<void> }) {
  return (
    <section class="card-panel">
      <h2>{isConnected ? "Replace the secrets" : "Connect Slack"}</h2>
      <p class="muted">
        {isConnected
          ? "Do this after the app was installed again, or to use an app of another workspace."
          : "Create an app at api.slack.com/apps from the manifest on the page Slack of the documentation, and install it."}
      </p>
      <Form
        name="slack.app"
        fields={[
          {
            name: "bot_token",
            label: "Bot token",
            kind: "secret",
            hint: "It begins with xoxb-, on the page OAuth & Permissions.",
          },
          { name: "signing_secret", label: "Signing secret", kind: "secret", hint: "On the page Basic Information." },
        ]}
        start={{ bot_token: "", signing_secret: "" }}
        label={isConnected ? "Replace" : "Connect"}
        submit={(typed) =>
          api.put(PATH, { body: { bot_token: textOf(typed, "bot_token"), signing_secret: textOf(typed, "signing_secret") } })
        }
        onDone={() => {
          showInfo("Slack is connected.");
          void onChanged();
        }}
      />
    </section>
  );
}
