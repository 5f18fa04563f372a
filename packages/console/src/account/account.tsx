import { callAuth } from "../accounts.ts";
import { useResource } from "../resource.ts";
import { Form, type Typed } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";
import { type Account, changeAddress, readAccount } from "./account-data.ts";
import { AddressState } from "./address.tsx";
import { Elsewhere } from "./elsewhere.tsx";
import { readMissing } from "./missing.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Sessions } from "./sessions.tsx";

/** Sends the name and the address in two requests, because the service has an operation for each. Returns what happened. */
async function change(account: Account, changed: Typed): Promise<string> {
  if ("name" in changed) await callAuth("POST", "/update-user", { name: textOf(changed, "name").trim() });
  return "email" in changed ? changeAddress(account, textOf(changed, "email").trim()) : "Your account was changed.";
}

function Password({ hasPassword, onDone }: { hasPassword: boolean; onDone: () => unknown }) {
  const isNew = !hasPassword;
  const submit = (typed: Typed) => {
    const newPassword = textOf(typed, "newPassword");
    return isNew
      ? callAuth("POST", "/add-password", { newPassword })
      : callAuth("POST", "/change-password", { newPassword, currentPassword: textOf(typed, "currentPassword") });
  };
  return (
    <section class="card-panel">
      <h2>Password</h2>
      {isNew && <p class="muted">You have none yet. With one, you can sign in from elsewhere.</p>}
      <Form
        key={String(isNew)}
        name="account.password"
        fields={[
          ...(isNew ? [] : [{ name: "currentPassword", label: "Current password", kind: "secret" as const }]),
          { name: "newPassword", label: "New password", kind: "secret", hint: "At least 12 characters." },
        ]}
        start={{ currentPassword: "", newPassword: "" }}
        label={isNew ? "Set the password" : "Change the password"}
        submit={submit}
        onDone={() => {
          showInfo("The password was changed.");
          onDone();
        }}
      />
    </section>
  );
}

/** Shows how the person signs in, and where they are signed in. */
export function AccountPage() {
  const { data, error, reload } = useResource(readAccount, [], () => false, true);
  const onDone = () => Promise.all([reload(), readMissing()]);
  return (
    <>
      <section class="card-panel">
        <h2>Sign-in</h2>
        <Problem error={error} retry={reload} />
        {!data && !error && <Loading what="your account" />}
        {data && (
          <>
            <Form
              name="account"
              fields={[
                { name: "name", label: "Name", short: true },
                { name: "email", label: "E-mail address", short: true },
              ]}
              start={{ name: data.name, email: data.email }}
              label="Save"
              submit={async (_typed, changed) => showInfo(await change(data, changed))}
              onDone={onDone}
            />
            <AddressState account={data} />
          </>
        )}
      </section>
      {data && <Password hasPassword={data.hasPassword} onDone={onDone} />}
      <Passkeys />
      <Elsewhere />
      <Sessions />
    </>
  );
}
