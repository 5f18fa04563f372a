import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Channel, NotificationPreferences } from "../types.ts";
import { Form, type Typed } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Select } from "../ui/select.tsx";
import { announce, attempt, showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";
import { Channels } from "./channels.tsx";
import { channelName, TYPE_NAMES } from "./names.ts";
import "../styles/inbox.css";

const PREFERENCES = "/api/v1/users/me/notifications";

type Choices = NotificationPreferences["choices"];
type Type = keyof Choices;
type Choice = Choices[Type]["email"];

const CHOICES: readonly (readonly [Choice, string])[] = [
  ["now", "At once"],
  ["digest", "In the digest"],
  ["off", "Never"],
];

async function read(signal: AbortSignal): Promise<{ channels: Channel[]; preferences: NotificationPreferences }> {
  const [channels, preferences] = await Promise.all([
    api.get("/api/v1/users/me/channels", { signal }),
    api.get(PREFERENCES, { signal }),
  ]);
  return { channels, preferences };
}

/** Shows and changes which channels notify the person, about what, and when. */
export function Preferences() {
  const { data, error, reload } = useResource(read, [], () => false, true);
  return (
    <>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="how you are notified" />}
      {data && (
        <>
          <Channels channels={data.channels} onChanged={reload} />
          <What choices={data.preferences.choices} types={shownTypes(data.channels)} onChanged={reload} />
          <When preferences={data.preferences} onChanged={reload} />
        </>
      )}
    </>
  );
}

/** Returns the types of channels to choose from: e-mail and browsers always, other types once the person has such a channel. */
const shownTypes = (channels: readonly Channel[]): Channel["type"][] => [
  ...new Set<Channel["type"]>(["email", "push", ...channels.map(({ type }) => type)]),
];

interface WhatProps {
  choices: Choices;
  types: readonly Channel["type"][];
  onChanged: () => Promise<void>;
}

function What({ choices, types, onChanged }: WhatProps) {
  const change = async (type: Type, channel: Channel["type"], choice: Choice) => {
    const body = { choices: { [type]: { [channel]: choice } } };
    if (await attempt("The choice was not stored", () => api.put(PREFERENCES, { body }))) announce("The choice is stored.");
    await onChanged();
  };
  return (
    <section>
      <h2>What is sent</h2>
      <p class="muted">The inbox always has everything. Decisions have buttons in the message.</p>
      <ul class="rows">
        {(Object.keys(choices) as Type[]).map((type) => (
          <li class="row" key={type}>
            <div class="grow">{TYPE_NAMES[type] ?? type}</div>
            <div class="inbox-choices">
              {types.map((channel) => (
                <label key={channel}>
                  {channelName(channel)}
                  <Select
                    label={`${channelName(channel)}: ${TYPE_NAMES[type] ?? type}`}
                    value={choices[type][channel]}
                    options={CHOICES}
                    onChoose={(choice) => change(type, channel, choice as Choice)}
                  />
                </label>
              ))}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

const timeZones = (own: string): string[] => [...new Set([own, "UTC", ...Intl.supportedValuesOf("timeZone")])];

const NIGHT = { from: "22:00", until: "07:00" };

function When({ preferences, onChanged }: { preferences: NotificationPreferences; onChanged: () => Promise<void> }) {
  const { quiet_hours: quiet, digest_time, time_zone } = preferences;
  const isQuiet = ({ is_quiet }: Typed) => is_quiet === true;
  const submit = (typed: Typed) => {
    const hours = { from: textOf(typed, "quiet_hours.from"), until: textOf(typed, "quiet_hours.until") };
    const body = {
      quiet_hours: isQuiet(typed) ? hours : null,
      digest_time: textOf(typed, "digest_time"),
      time_zone: textOf(typed, "time_zone"),
    };
    return api.put(PREFERENCES, { body });
  };
  return (
    <section class="card-panel">
      <h2>When</h2>
      <Form
        name="notifications.when"
        fields={[
          { name: "digest_time", label: "Time of the digest", kind: "time", short: true },
          {
            name: "time_zone",
            label: "Time zone",
            kind: "choice",
            options: timeZones(time_zone).map((zone) => [zone, zone] as const),
            short: true,
          },
          { name: "is_quiet", label: "Quiet hours: what comes then is sent when they end", kind: "check" },
          { name: "quiet_hours.from", label: "From", kind: "time", short: true, isShown: isQuiet },
          { name: "quiet_hours.until", label: "Until", kind: "time", short: true, isShown: isQuiet },
        ]}
        start={{
          digest_time,
          time_zone,
          is_quiet: quiet !== null,
          "quiet_hours.from": (quiet ?? NIGHT).from,
          "quiet_hours.until": (quiet ?? NIGHT).until,
        }}
        label="Save"
        submit={submit}
        onDone={() => {
          showInfo("The times are stored.");
          void onChanged();
        }}
      />
    </section>
  );
}
