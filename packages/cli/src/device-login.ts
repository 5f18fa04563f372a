import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { ConnectionError } from "@board/client";
import { UsageError } from "./failure.ts";
import { PROGRAM } from "./program.ts";

/** The id by which the service knows this program. */
const CLIENT_ID = "board";
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** The beginning of the token of a session. */
const SESSION = /^bs_/;
const SLOWER_SECONDS = 5;
const MAX_WAIT_SECONDS = 60;

/** What a person needs in order to sign this program in. */
export interface DeviceCode {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
}

/** Asks for a code. Returns null when the service has no accounts. People then sign in with a token. */
export async function requestDeviceCode(url: string): Promise<DeviceCode | null> {
  const { status, body } = await post(`${url}/api/auth/device/code`, { client_id: CLIENT_ID });
  if (status === 404 || status === 405) return null;
  if (status !== 200) throw refusal(status, body);
  return body as unknown as DeviceCode;
}

/** Waits until the person has agreed in the browser, and returns the token. */
export async function waitForApproval(url: string, { device_code, expires_in, interval }: DeviceCode): Promise<string> {
  const end = Date.now() + expires_in * 1_000;
  let wait = Math.min(Math.max(interval, 1), MAX_WAIT_SECONDS);
  while (Date.now() < end) {
    await pause(wait * 1_000);
    const answer = await post(`${url}/api/auth/device/token`, { grant_type: GRANT, client_id: CLIENT_ID, device_code }).catch(
      (error: unknown) => {
        // The code stays valid while the network or the service does not answer, so the program asks again.
        if (error instanceof ConnectionError) return null;
        throw error;
      },
    );
    if (answer === null || answer.status >= 500 || answer.status === 429) continue;
    const { access_token, error } = answer.body;
    if (answer.status === 200 && typeof access_token === "string") return access_token;
    if (error === "slow_down") wait += SLOWER_SECONDS;
    else if (error === "access_denied") throw new UsageError("The sign-in was refused in the browser.");
    else if (error === "expired_token") break;
    else if (error !== "authorization_pending") throw refusal(answer.status, answer.body);
  }
  throw new UsageError(`The code is too old. Run "${PROGRAM} login" again.`);
}

/** Ends the session that a token stands for. Tokens of other kinds are left alone, because other programs may use them too. */
export async function endSession(url: string, token: string): Promise<boolean> {
  if (!SESSION.test(token)) return false;
  return (await post(`${url}/api/auth/sign-out`, {}, { authorization: `Bearer ${token}` })).status === 200;
}

/** Opens a page of the service in the browser of this machine, if there is one. */
export function openBrowser(address: string, environment: NodeJS.ProcessEnv, platform = process.platform): void {
  if (!/^https?:/.test(address)) return;
  const command = browserOf(environment, platform);
  if (!command) return;
  const [name, ...parameters] = command;
  const child = spawn(name!, [...parameters, address], { stdio: "ignore", detached: true });
  // Without a browser, the person can open the address, which is also printed.
  child.on("error", () => {});
  child.unref();
}

function browserOf(environment: NodeJS.ProcessEnv, platform: NodeJS.Platform): string[] | null {
  const chosen = environment["BROWSER"]?.trim();
  if (chosen) return [chosen];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return environment["DISPLAY"] || environment["WAYLAND_DISPLAY"] ? ["xdg-open"] : null;
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function post(address: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
      redirect: "error",
    });
  } catch (error) {
    throw new ConnectionError(address, error);
  }
  const parsed: unknown = await response.json().catch(() => null);
  return { status: response.status, body: typeof parsed === "object" && parsed !== null ? (parsed as Answer["body"]) : {} };
}

function refusal(status: number, { error_description, message, detail }: Answer["body"]): Error {
  const reason = [error_description, message, detail].find((text) => typeof text === "string");
  return new UsageError(`The service did not let this program sign in (${status})${reason ? `: ${String(reason)}` : "."}`);
}
