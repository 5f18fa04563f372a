import { SESSION, useToken } from "./api.ts";

/** Calls the sign-in of accounts mode. Throws with the reason that the service gives. */
async function post(path: string, body: object): Promise<void> {
  const answer = await fetch(`/api/auth${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.ok) return;
  const reason = (await answer.json().catch(() => null)) as { message?: string; detail?: string } | null;
  throw new Error(reason?.message ?? reason?.detail ?? `The service answered ${answer.status}.`);
}

/** Signs in by a link for one use. */
export async function signInByLink(token: string): Promise<void> {
  await post("/sign-in/link", { token });
  useToken(SESSION);
}

export async function signInByPassword(email: string, password: string): Promise<void> {
  await post("/sign-in/email", { email, password });
  useToken(SESSION);
}

/** Creates an account by the link of an invite, which also signs in. */
export async function joinByInvite(token: string, name: string, password: string): Promise<void> {
  await post("/sign-up/invite", { token, name, password });
  useToken(SESSION);
}
