import { api } from "../api.ts";
import type { Channel } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Form } from "../ui/form.tsx";
import { Empty } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt, showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";
import { addBrowser, known, removeChannel } from "./browser.ts";
import { LinkSlack } from "./slack.tsx";
import { channelName, guessBrowserName, needsHomeScreen } from "./names.ts";

interface Props {
  channels: readonly Channel[];
  onChanged: () => Promise<void>;
}

/** Shows the channels that notify the person outside the console. */
export function Channels({ channels, onChanged }: Props) {
  const isKnown = channels.some(({ id }) => id === known.value?.channel_id);
  return (
    <section>
      <h2>Channels</h2>
      {channels.length === 0 ? (
        <Empty title="You are notified only in the console.">
          A browser that you add shows messages also when the console is closed. E-mail appears here if the service has a mail
          server.
        </Empty>
      ) : (
        <ul class="rows">
          {channels.map((channel) => (
            <Row key={channel.id} channel={channel} onChanged={onChanged} />
          ))}
        </ul>
      )}
      {!isKnown && <ThisBrowser onChanged={onChanged} />}
      <LinkSlack onChanged={onChanged} />
    </section>
  );
}

const PATH = "/api/v1/users/me/channels/{channel_id}";

function Row({ channel, onChanged }: { channel: Channel; onChanged: () => Promise<void> }) {
  const { id, type, name, active, disabled_reason, failing_since, last_error, last_sent_at } = channel;
  const params = { path: { channel_id: id } };
  const title = name ?? channelName(type);
  const test = () =>
    attempt("The test message was not sent", async () => {
      const { ok, error } = await api.post(`${PATH}/test`, { params });
      if (!ok) throw new Error(error ?? "It was not accepted.");
      showInfo("The test message was sent.");
    });
  const setActive = async () => {
    if (await attempt("The channel was not changed", () => api.patch(PATH, { params, body: { active: !active } })))
      await onChanged();
  };
  return (
    <li class="row">
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{title}</strong>
          <span class={active ? "badge success" : "badge"}>{active ? "active" : "off"}</span>
          {id === known.value?.channel_id && <span class="badge accent">this browser</span>}
        </span>
        <span class="muted">
          {name !== null && `${channelName(type)}, `}
          {last_sent_at === null ? (
            "nothing was sent yet"
          ) : (
            <>
              last sent <Time at={last_sent_at} />
            </>
          )}
        </span>
        {disabled_reason !== null && (
          <span class="danger-text" dir="auto">
            {disabled_reason}
          </span>
        )}
        {active && failing_since !== null && (
          <span class="danger-text" dir="auto">
            Failing since <Time at={failing_since} />
            {last_error !== null && `: ${last_error}`}
          </span>
        )}
      </div>
      <div class="actions wrap">
        <button type="button" class="small" aria-label={`Send a test to ${title}`} onClick={test}>
          Send a test
        </button>
        <button type="button" class="small" aria-label={`Switch ${active ? "off" : "on"} ${title}`} onClick={setActive}>
          {active ? "Switch off" : "Switch on"}
        </button>
        {type !== "email" && (
          <Confirm
            label="Remove"
            question="It gets nothing more."
            confirm={`Remove ${title}`}
            failure="The channel was not removed"
            act={() => removeChannel(id)}
            onDone={onChanged}
          />
        )}
      </div>
    </li>
  );
}

/** Returns why this browser cannot be added, or null if it can. */
function refusalOfBrowser(): string | null {
  if (needsHomeScreen())
    return "On this device, add the console to the home screen first (Share, Add to Home Screen), and open it from there.";
  if (!("serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis))
    return globalThis.isSecureContext
      ? "This browser cannot receive messages from pages that are closed."
      : "This browser receives messages only from an https address, or from this computer.";
  if (Notification.permission === "denied")
    return "This browser does not allow the page to notify you. Allow it in the settings of the browser, then reload the page.";
  return null;
}

function ThisBrowser({ onChanged }: Pick<Props, "onChanged">) {
  const refusal = refusalOfBrowser();
  return (
    <div class="card-panel">
      <h3>This browser</h3>
      {refusal !== null ? (
        <p class="muted">{refusal}</p>
      ) : (
        <Form
          name="browser.new"
          fields={[{ name: "name", label: "Name", hint: "Tells this browser apart from your others." }]}
          start={{ name: guessBrowserName() }}
          label="Notify me in this browser"
          submit={(typed) => addBrowser(textOf(typed, "name"))}
          onDone={() => {
            showInfo("You are notified in this browser.");
            void onChanged();
          }}
        />
      )}
    </div>
  );
}
