import { useState } from "preact/hooks";
import { useResource } from "../resource.ts";
import type { Key, NewKey } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { List } from "../ui/list.tsx";
import { Secret } from "../ui/secret.tsx";
import { isPast, Time } from "../ui/time.tsx";
import { boardsText, NEW, newFields, ROTATE, ROTATE_FIELDS, toNew, toRotation } from "./fields.ts";
import { type KeyStore, organizationKeys, ownKeys } from "./read.ts";

interface KeysProps {
  title: string;
  /** Explains the list of keys to somebody who sees it for the first time. */
  about: string;
  store: KeyStore;
  /** Another person's key can be revoked here, but only its owner can rotate it. */
  mayRotate: (key: Key) => boolean;
}

function Row({
  item,
  store,
  mayRotate,
  onChanged,
  onKey,
}: { item: Key; onChanged: () => void; onKey: (key: NewKey) => void } & Pick<KeysProps, "store" | "mayRotate">) {
  const isOver = item.expires_at !== null && isPast(item.expires_at);
  return (
    <div class="row">
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{item.name}</strong>
          <span class={item.access === "admin" ? "badge accent" : "badge"}>{item.access}</span>
          {item.personal && <span class="badge">personal</span>}
          {isOver && <span class="badge danger">ended</span>}
        </span>
        <span class="muted" dir="auto">
          <code>{item.prefix}…</code> · {boardsText(item)} ·{" "}
          {item.last_used_at === null ? (
            "never used"
          ) : (
            <>
              used <Time at={item.last_used_at} />
            </>
          )}{" "}
          ·{" "}
          {item.expires_at === null ? (
            "does not end"
          ) : (
            <>
              {isOver ? "ended" : "ends"} <Time at={item.expires_at} />
            </>
          )}
        </span>
      </div>
      <div class="actions">
        {mayRotate(item) && (
          <FormButton
            title="Rotate"
            about={`Rotate the key ${item.name}`}
            name={`key.rotate.${item.id}`}
            fields={ROTATE_FIELDS()}
            start={ROTATE}
            label="Make the new key"
            submit={async (typed) => onKey(await store.rotate(item, toRotation(typed)))}
            onDone={onChanged}
          />
        )}
        <Confirm
          label="Revoke"
          question="Programs that use it are refused at once."
          confirm="Revoke the key"
          failure="The key was not revoked"
          act={() => store.revoke(item)}
          onDone={onChanged}
        />
      </div>
    </div>
  );
}

function Keys({ title, about, store, mayRotate }: KeysProps) {
  const from = useResource(store.read, [store], () => false);
  const [made, setMade] = useState<NewKey | null>(null);
  return (
    <section>
      <div class="view-intro">
        <h2>{title}</h2>
        <FormButton
          title="New key"
          isPrimary
          name={`key.new.${store === ownKeys ? "own" : "organization"}`}
          fields={newFields()}
          start={NEW}
          label="Create key"
          submit={async (typed) => setMade(await store.create(toNew(typed)))}
          onDone={from.reload}
        />
      </div>
      <p class="muted">{about}</p>
      {made && <Secret key={made.key} label={`Key ${made.name}`} text={made.key} onDone={() => setMade(null)} />}
      <List
        what="the keys"
        from={from}
        empty={["There are no keys.", "A key lets a program use the API, with an end and limits."]}
      >
        {(item) => <Row key={item.id} item={item} store={store} mayRotate={mayRotate} onChanged={from.reload} onKey={setMade} />}
      </List>
    </section>
  );
}

/** Shows the keys of the organization and the keys of its members. */
export const OrganizationKeys = () => (
  <Keys
    title="Keys"
    about="A key of the organization acts under its own name. Personal keys of members are listed too, and end with their membership."
    store={organizationKeys}
    mayRotate={({ personal }) => !personal}
  />
);

export const OwnKeys = () => (
  <Keys
    title="Your keys"
    about="A personal key has your rights in this organization, cut to its access and boards."
    store={ownKeys}
    mayRotate={() => true}
  />
);
