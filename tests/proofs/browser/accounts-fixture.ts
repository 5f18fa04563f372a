/** A service in accounts mode, in which browsers have session cookies. */
import { type Client, createClient } from "@board/client/client";
import { dataFolder, runProgram } from "../../support/program.ts";
import { makeBoard, startService } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const OWNER_KEY = "o".repeat(60);

/**
 * Starts a service with the board "Harbour" and its owner, who signs in with the link. `fill` adds more while the service still
 * accepts a token. `more` are other settings.
 */
export async function startAccounts(
  fill?: (api: Client, board_id: string) => Promise<unknown>,
  more: Record<string, string> = {},
) {
  const folder = dataFolder();
  const port = await freePort();
  // Passkeys work only with a domain name, not with an IP address.
  const origin = `http://localhost:${port}`;
  const environment = { LOCAL_AUTH_TOKEN: OWNER_KEY, BASE_URL: origin, ...more };
  const before = await startService(folder, port, environment);
  const { id: board_id } = await makeBoard(before.api, "Harbour");
  await fill?.(before.api, board_id);
  await before.program.stop();
  const printed = await runProgram("doctor", { DATA_DIR: folder, AUTH_MODE: "accounts", ...environment }, ["--owner-link"]);
  await startService(folder, port, { AUTH_MODE: "accounts", ...environment });
  // The token that the owner had before the service had accounts still belongs to the owner.
  const api = createClient({ url: origin, token: OWNER_KEY });
  return { origin, api, board_id, owner_link: `${origin}/#link=${/#link=(\S+)/.exec(printed.stdout)![1]!}` };
}
