import { useState } from "preact/hooks";
import {
  askForMail,
  canUsePasskeys,
  hasAccountAlready,
  joinByInvite,
  leaveToService,
  SERVICES,
  signInByMail,
  signInByPasskey,
  signInByPassword,
} from "../accounts.ts";
import { messageOf, signedIn } from "../api.ts";
import type { Way } from "../config.ts";
import { openedAddress, openedInvite } from "../opened-links.ts";
import { openedMail } from "../sign-in-link.ts";
import { showInfo } from "../ui/toast.tsx";

const MIN_PASSWORD = 12;

interface Props {
  ways: readonly Way[];
  isBusy: boolean;
  attempt: (act: () => Promise<unknown>) => Promise<void>;
}

/** Shows the form that fits how the page was opened: by a link from an e-mail, by the link of an invite, or without a link. */
export function AccountForm(props: Props) {
  if (openedMail.value !== null) return <MailButton {...props} token={openedMail.value} />;
  // A person whose session has ended has an account already.
  if (openedInvite.value !== null && !signedIn.value) return <JoinForm {...props} invite={openedInvite.value} />;
  return (
    <>
      {openedAddress.value !== null && <p role="status">Sign in to confirm your e-mail address.</p>}
      <WaysForm {...props} />
    </>
  );
}

function MailButton({ token, isBusy, attempt }: Props & { token: string }) {
  const signIn = () => attempt(() => signInByMail(token).finally(() => (openedMail.value = null)));
  return (
    <button type="button" class="primary" autofocus disabled={isBusy} onClick={signIn}>
      Sign in
    </button>
  );
}

/** Creates an account for an invited person. A person who has one signs in instead, and is then asked whether to join. */
function JoinForm({ invite, ...props }: Props & { invite: string }) {
  const { isBusy, attempt } = props;
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [signInText, setSignInText] = useState<string | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt(() =>
      joinByInvite(invite, name.trim(), password).catch((error: unknown) => {
        if (!hasAccountAlready(error)) throw error;
        setSignInText(messageOf(error));
      }),
    );
  };
  if (signInText !== null)
    return (
      <>
        <p role="status">{signInText}</p>
        <WaysForm {...props} />
        <button type="button" class="plain" disabled={isBusy} onClick={() => setSignInText(null)}>
          I have no account yet
        </button>
      </>
    );
  return (
    <form class="form" onSubmit={submit}>
      <label>
        Name
        <input required autofocus autocomplete="name" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label>
        Password
        <input
          type="password"
          minLength={MIN_PASSWORD}
          autocomplete="new-password"
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </label>
      <p class="muted">At least {MIN_PASSWORD} characters. You can also set it, or a passkey, later under You, Account.</p>
      <button type="submit" class="primary" disabled={isBusy}>
        Join
      </button>
      <button type="button" class="plain" disabled={isBusy} onClick={() => setSignInText("Sign in to join with your account.")}>
        I have an account
      </button>
    </form>
  );
}

function WaysForm({ ways, isBusy, attempt }: Props) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt(() => signInByPassword(email.trim(), password));
  };
  const mail = () =>
    attempt(async () => {
      if (!email.trim()) throw new Error("Enter your e-mail address first.");
      await askForMail(email.trim());
      showInfo("If the address has an account, a link is on its way.");
    });
  return (
    <form class="form" onSubmit={submit}>
      <label>
        E-mail
        <input
          type="text"
          inputMode="email"
          required
          autofocus
          autocomplete="username"
          value={email}
          onInput={(event) => setEmail(event.currentTarget.value)}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          required
          autocomplete="current-password"
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={isBusy}>
        Sign in
      </button>
      {canUsePasskeys && (
        <button type="button" disabled={isBusy} onClick={() => attempt(signInByPasskey)}>
          Sign in with a passkey
        </button>
      )}
      {ways.includes("mail") && (
        <button type="button" disabled={isBusy} onClick={mail}>
          Send a link by e-mail
        </button>
      )}
      {(["github", "google"] as const)
        .filter((way) => ways.includes(way))
        .map((way) => (
          <button key={way} type="button" disabled={isBusy} onClick={() => attempt(() => leaveToService(way))}>
            Sign in with {SERVICES[way]}
          </button>
        ))}
    </form>
  );
}
