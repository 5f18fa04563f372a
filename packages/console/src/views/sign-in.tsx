import { useEffect, useState } from "preact/hooks";
import { returnFromService } from "../accounts.ts";
import { isAccepted, messageOf, useToken } from "../api.ts";
import { type Auth, readAuth } from "../config.ts";
import { finishSignIn, hasReturned, leaveToSignIn, type Provider } from "../oidc.ts";
import { Problem } from "../ui/parts.tsx";
import { AccountForm } from "./account-form.tsx";

/** Shows the ways to sign in that the service offers, as a page or in a window over a page whose token has expired. */
export function SignInForm() {
  const [auth, setAuth] = useState<Auth | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  const attempt = async (act: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    await act().catch((reason: unknown) => setError(messageOf(reason)));
    setBusy(false);
  };
  const begin = () =>
    attempt(async () => {
      const found = await readAuth();
      setAuth(found);
      if (hasReturned() && isProvider(found)) useToken(await finishSignIn(found));
      if (found.mode === "accounts") await returnFromService();
    });
  useEffect(() => void begin(), []);

  return (
    <div class="sign-in-form">
      <Problem error={error} {...(auth === null ? { retry: begin } : {})} />
      {auth?.mode === "local" && <TokenForm isBusy={isBusy} attempt={attempt} />}
      {auth?.mode === "accounts" && <AccountForm ways={auth.ways} isBusy={isBusy} attempt={attempt} />}
      {auth?.mode === "oidc" &&
        (isProvider(auth) ? (
          <button type="button" class="primary" disabled={isBusy} onClick={() => attempt(() => leaveToSignIn(auth))}>
            Sign in with {new URL(auth.issuer).host}
          </button>
        ) : (
          <p>
            The service does not know the console’s client id at the identity provider. Set <code>CONSOLE_OIDC_CLIENT_ID</code>{" "}
            and restart it.
          </p>
        ))}
    </div>
  );
}

const isProvider = (auth: Auth): auth is { mode: "oidc" } & Provider => auth.mode === "oidc" && auth.client_id !== null;

function TokenForm({ isBusy, attempt }: { isBusy: boolean; attempt: (act: () => Promise<unknown>) => Promise<void> }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt(async () => {
      const candidate = text.trim();
      if (!(await isAccepted(candidate))) throw new Error("The service does not accept this token.");
      useToken(candidate);
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <label>
        Token
        <input
          type="password"
          required
          autofocus
          autocomplete="current-password"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p class="muted">
        In a terminal, <code>npm start</code> prints it with a link that signs in. Elsewhere it names the file that contains it.
      </p>
      <button type="submit" class="primary" disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}

export function SignInPage() {
  return (
    <main class="sign-in">
      <h1>Board</h1>
      <p class="muted">Where people and agents coordinate.</p>
      <SignInForm />
    </main>
  );
}
