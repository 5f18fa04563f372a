import { hasReturned, type Provider } from "./oidc.ts";

/** Ways to sign in that only some services have. */
export type Way = "github" | "google" | "mail";

export type Auth =
  | { mode: "local" }
  | { mode: "accounts"; ways: readonly Way[] }
  | ({ mode: "oidc" } & Omit<Provider, "client_id"> & { client_id: string | null });

let reading: Promise<Auth> | undefined;

/** Reads how people sign in. The first call sends the request, and later calls return its result. */
export const readAuth = (): Promise<Auth> =>
  (reading ??= fetch("/console/config.json")
    .then(async (answer) => {
      if (!answer.ok) throw new Error(`The service answered ${answer.status}.`);
      return ((await answer.json()) as { auth: Auth }).auth;
    })
    .catch((error: unknown) => {
      reading = undefined;
      throw error;
    }));

export { hasReturned };
