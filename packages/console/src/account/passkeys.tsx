import { callAuth, canUsePasskeys } from "../accounts.ts";
import { useResource } from "../resource.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { List } from "../ui/list.tsx";
import { Time } from "../ui/time.tsx";
import { textOf } from "../ui/values.ts";
import { readPasskeys } from "./account-data.ts";
import { readMissing } from "./missing.tsx";

/** Creates a passkey on the person's device and registers it with the service. */
async function addPasskey(name: string): Promise<void> {
  const options = await callAuth<PublicKeyCredentialCreationOptionsJSON>("GET", "/passkey/generate-register-options");
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  await callAuth("POST", "/passkey/verify-registration", { response: credential.toJSON(), name });
}

/** The address of this page with the name of this machine, if its IP address was used. */
const NAMED_ADDRESS =
  location.hostname === "127.0.0.1" ? `${location.protocol}//localhost:${location.port}/#/personal/account` : null;

export function Passkeys() {
  const from = useResource(readPasskeys, [], () => false, true);
  const onDone = () => Promise.all([from.reload(), readMissing()]);
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Passkeys</h2>
        {canUsePasskeys && (
          <FormButton
            title="Add a passkey"
            name="passkey.new"
            fields={[{ name: "name", label: "What you call it", placeholder: "Laptop" }]}
            start={{ name: "" }}
            label="Add"
            submit={(typed) => addPasskey(textOf(typed, "name").trim() || "Passkey")}
            onDone={onDone}
          />
        )}
      </div>
      {NAMED_ADDRESS && (
        <p class="muted">
          Browsers accept passkeys for names only. Open <a href={NAMED_ADDRESS}>{NAMED_ADDRESS}</a> to add one.
        </p>
      )}
      <List
        what="the passkeys"
        from={from}
        empty={["There are no passkeys.", "A passkey signs you in with your device, without a password."]}
      >
        {(item) => (
          <div class="row" key={item.id}>
            <div class="grow">
              <strong dir="auto">{item.name ?? "Passkey"}</strong>
              {item.createdAt && (
                <span class="muted">
                  added <Time at={item.createdAt} />
                </span>
              )}
            </div>
            <Confirm
              label="Remove"
              question="It does not sign you in any more."
              confirm="Remove the passkey"
              failure="The passkey was not removed"
              act={() => callAuth("POST", "/passkey/delete-passkey", { id: item.id })}
              onDone={onDone}
            />
          </div>
        )}
      </List>
    </section>
  );
}
