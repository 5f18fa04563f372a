import { api } from "../api.ts";
import { leaveDeleted } from "../inbox/browser.ts";
import { LANGUAGES, language } from "../language.ts";
import { useResource } from "../resource.ts";
import { loadSession } from "../session.ts";
import { THEMES, theme } from "../theme.ts";
import type { UserUpdate } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { type FieldSpec, Form, type Typed } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { Select } from "../ui/select.tsx";
import { toMoment } from "../ui/time.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOrNull } from "../ui/values.ts";

const ME = "/api/v1/users/me";
const NAMES = ["name", "preferred_name", "pronouns", "timezone", "notes", "context"] as const;

const EXAMPLE = new Date().toISOString();

const fields = (): FieldSpec[] => [
  { name: "name", label: "Full name", short: true },
  { name: "preferred_name", label: "What you want to be called", short: true },
  { name: "pronouns", label: "Pronouns", short: true },
  {
    name: "timezone",
    label: "Time zone",
    short: true,
    placeholder: "Europe/Berlin",
    hint: `This browser is in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`,
  },
  { name: "notes", label: "Notes for agents about you", kind: "long", rows: 3 },
  { name: "context", label: "Background for agents about you", kind: "long", rows: 3 },
];

const toBody = (changed: Typed): UserUpdate =>
  Object.fromEntries(NAMES.filter((name) => name in changed).map((name) => [name, textOrNull(changed, name)]));

/** Changes the name and other details under which agents and other people see the person. */
export function Profile() {
  const { data, error, reload } = useResource(
    (signal) => api.get(ME, { signal }),
    [],
    () => false,
    true,
  );
  return (
    <>
      <section class="card-panel">
        <h2>Profile</h2>
        <Problem error={error} retry={reload} />
        {!data && !error && <Loading what="your profile" />}
        {data && (
          <Form
            name={`profile.${data.id}`}
            fields={fields()}
            start={Object.fromEntries(NAMES.map((name) => [name, data[name] ?? ""]))}
            label="Save"
            submit={(_typed, changed) => api.patch(ME, { body: toBody(changed) })}
            onDone={() => {
              showInfo("Your profile was changed.");
              void reload();
              void loadSession();
            }}
          />
        )}
      </section>
      <section class="card-panel">
        <h2>This browser</h2>
        <div class="field">
          <label for="theme">Theme</label>
          <Select
            id="theme"
            value={theme.value}
            options={THEMES.map((name) => [name, name] as const)}
            onChoose={(chosen) => (theme.value = THEMES.find((name) => name === chosen) ?? "system")}
          />
        </div>
        <div class="field">
          <label for="language">Language of dates and numbers</label>
          <select
            id="language"
            value={language.value ?? ""}
            onChange={(event) => (language.value = event.currentTarget.value || undefined)}
          >
            <option value="">as the browser</option>
            {LANGUAGES.map(([tag, name]) => (
              <option key={tag} value={tag} lang={tag}>
                {name}
              </option>
            ))}
          </select>
          <span class="hint muted">For example: {toMoment(EXAMPLE)}.</span>
        </div>
      </section>
      <section class="card-panel danger-zone">
        <h2>Danger zone</h2>
        <p>Deleting your account also deletes organizations that have no other member.</p>
        <Confirm
          label="Delete your account"
          question="Type “delete” to go on. You are signed out, and nothing can be restored."
          confirm="Delete the account"
          failure="The account was not deleted"
          typed="delete"
          act={() => api.delete(ME)}
          onDone={leaveDeleted}
        />
      </section>
    </>
  );
}
