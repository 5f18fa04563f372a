import { openAccounts } from "@board/accounts/accounts";
import { setupWorld } from "../support/fixtures.ts";
import type { World, WorldOptions } from "../support/world.ts";

export const OWNER_TOKEN = "o".repeat(60);
export const PASSWORD = "a green fence by the sea";

export interface Browser {
  cookie: string;
  send(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: any }>;
}

export type AccountsWorld = Awaited<ReturnType<typeof setupAccounts>>;

/** Sets up a service in accounts mode, and functions that open browsers of people. */
export async function setupAccounts({ environment, ...options }: WorldOptions & { environment: { BASE_URL: string } }) {
  let client_address = "10.0.0.1";
  let browsers = 0;
  const world: World = await setupWorld({
    streams: { max_seconds: 0 },
    socketAddress: () => client_address,
    ...options,
    environment: { AUTH_MODE: "accounts", LOCAL_AUTH_TOKEN: OWNER_TOKEN, ...environment },
  });
  const origin = environment.BASE_URL;
  const accounts = openAccounts(world.settings, () => world.runtime.createContext());

  /** Opens a browser, which keeps the cookie of its session and names the origin of its page. */
  function openBrowser(address = `10.0.1.${++browsers % 250}`): Browser {
    /** All cookies except the session cookie, by name. */
    const others = new Map<string, string>();
    const browser: Browser = {
      cookie: "",
      async send(method, path, body, headers = {}) {
        const init = {
          method,
          headers: {
            ...(method === "GET" ? {} : { origin }),
            "content-type": "application/json",
            ...cookiesOf([browser.cookie, ...others.values()]),
            ...headers,
          },
          ...(body ? { body: JSON.stringify(body) } : {}),
        };
        client_address = address;
        const response = await world.app.request(new URL(path, origin).href, init);
        for (const line of response.headers.getSetCookie()) {
          const cookie = line.split(";")[0]!;
          if (/^(__Secure-)?board\.session_token=/.test(cookie)) browser.cookie = cookie;
          else others.set(cookie.split("=")[0]!, cookie);
        }
        const text = await response.text();
        return { status: response.status, headers: response.headers, body: parse(text) };
      },
    };
    return browser;
  }

  const signInByLink = async (token: string, browser = openBrowser()) => {
    const answer = await browser.send("POST", "/api/auth/sign-in/link", { token });
    return { browser, answer };
  };
  return {
    world,
    accounts,
    origin,
    openBrowser,
    signInByLink,
    openOwner: async () => (await signInByLink(await accounts.createOwnerLink())).browser,
    invite: async (owner: Browser, email: string) =>
      (await owner.send("POST", "/organizations/me/invites", { invited_email: email, all_boards_write: true })).body
        .token as string,
    joinBy: async (token: string, name: string) => {
      const browser = openBrowser();
      const answer = await browser.send("POST", "/api/auth/sign-up/invite", { token, name, password: PASSWORD });
      return { browser, answer };
    },
    signIn: (email: string, password: string, browser = openBrowser()) =>
      browser.send("POST", "/api/auth/sign-in/email", { email, password }),
    /** Returns a function that sends requests like a program on a separate machine. */
    openMachine: () => {
      const address = `10.0.2.${++browsers % 250}`;
      return (url: string | URL, init?: RequestInit): Promise<Response> => {
        client_address = address;
        return Promise.resolve(world.app.request(String(url), init));
      };
    },
  };
}

const cookiesOf = (cookies: readonly string[]): { cookie?: string } => {
  const cookie = cookies.filter(Boolean).join("; ");
  return cookie === "" ? {} : { cookie };
};

function parse(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}
