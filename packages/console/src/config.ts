import { hasReturned, type Provider } from "./oidc.ts";

export type Auth = { mode: "local" } | ({ mode: "oidc" } & Omit<Provider, "client_id"> & { client_id: string | null });

let reading: Promise<Auth> | undefined;

/** How people sign in. Read once, when somebody must. */
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
