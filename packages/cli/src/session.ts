import { readFileSync } from "node:fs";
import { ApiError, type Client, createClient } from "@board/client";
import { type Config, type HeldLease, type Identity, readConfig } from "./config.ts";
import { collect } from "./collect.ts";
import { UsageError } from "./failure.ts";
import { PROGRAM } from "./program.ts";
import { findStartedService } from "./started-service.ts";

export const DEFAULT_URL = "http://127.0.0.1:8000";
/**
 * Matches agent tokens: 32 random bytes in URL-safe Base64, with the prefix `run_` in the token of a run. Other tokens are not
 * tried as agent tokens, because the service limits failed attempts.
 */
const AGENT_TOKEN = /^(run_)?[\w-]{43}$/;
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Options of every command. */
export interface GlobalOptions {
  url?: string;
  board?: string;
  json?: boolean;
}

/** A signed-in caller. */
export interface Session {
  url: string;
  client: Client;
  token: string;
  identity: Identity;
  config: Config;
  /** Whether the caller named a board, by `--board` or BOARD. */
  namesBoard: boolean;
  /** Returns the board of the command: `--board`, BOARD, the agent's own board, or the only board. */
  findBoardId: () => Promise<string>;
  /** Returns the board of a task. When the caller has several boards, they are searched for the task. */
  findBoardIdOf: (task_id: string) => Promise<string>;
}

export function serviceUrl({ url }: GlobalOptions, environment: NodeJS.ProcessEnv, config: Config): string {
  const text = url ?? (environment["BOARD_URL"] || config.url || findStartedService(environment) || DEFAULT_URL);
  return requireAddress(text);
}

/**
 * Returns the address to sign in to. A service that was started in this folder takes precedence over the address that was used
 * last.
 */
export const loginUrl = ({ url }: GlobalOptions, environment: NodeJS.ProcessEnv, config: Config): string =>
  requireAddress(url ?? (environment["BOARD_URL"] || findStartedService(environment) || config.url || DEFAULT_URL));

function requireAddress(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new UsageError(`${text} is not the address of a service. Use http://… or https://…`);
  return text.endsWith("/") ? text.slice(0, -1) : text;
}

export async function openSession(options: GlobalOptions, environment: NodeJS.ProcessEnv): Promise<Session> {
  const config = readConfig(environment);
  const url = serviceUrl(options, environment, config);
  const given = readGivenToken(environment);
  const stored = config.logins[url];
  const token = given ?? stored?.token;
  if (!token) throw new UsageError(`You are not signed in to ${url}. Run "${PROGRAM} login", or set BOARD_TOKEN.`);
  const identity = stored && stored.token === token ? stored.identity : await identify(url, token);
  const client = clientFor(url, token, identity);
  const wanted = options.board ?? (environment["BOARD"] || undefined);
  let board_id: Promise<string> | undefined;
  const findBoardId = () => (board_id ??= resolveBoard(client, identity, wanted));
  const findBoardIdOf = (task_id: string) =>
    wanted !== undefined || (identity.type === "agent" && identity.board_id)
      ? findBoardId()
      : searchBoards(client, identity, task_id);
  return { url, client, token, identity, config, namesBoard: wanted !== undefined, findBoardId, findBoardIdOf };
}

export const clientFor = (url: string, token: string, { type }: Identity): Client =>
  createClient({ url, ...(type === "agent" ? { agent_token: token } : { token }) });

function readGivenToken(environment: NodeJS.ProcessEnv): string | undefined {
  const token = environment["BOARD_TOKEN"]?.trim();
  if (token) return token;
  const file = environment["BOARD_TOKEN_FILE"];
  if (!file) return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`The file of BOARD_TOKEN_FILE cannot be read: ${(error as Error).message}`);
  }
}

/** Asks the service to whom a token belongs. */
export async function identify(url: string, token: string): Promise<Identity> {
  if (AGENT_TOKEN.test(token)) {
    try {
      const { agent_id, board_id, is_board_lead } = await createClient({ url, agent_token: token }).get("/api/v1/agent/healthz");
      return { type: "agent", agent_id, board_id, is_board_lead };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
    }
  }
  await createClient({ url, token }).get("/api/v1/users/me");
  return { type: "user" };
}

/** Lists the boards that the caller may see. */
export const listBoards = (client: Client, { type }: Identity) =>
  type === "agent" ? client.list("/api/v1/agent/boards") : client.list("/api/v1/boards");

async function resolveBoard(client: Client, identity: Identity, wanted: string | undefined): Promise<string> {
  if (wanted !== undefined && UUID.test(wanted)) return wanted;
  if (wanted === undefined && identity.type === "agent" && identity.board_id) return identity.board_id;
  const names: string[] = [];
  const found: string[] = [];
  for await (const { id, name, slug } of listBoards(client, identity)) {
    names.push(slug);
    if (wanted === undefined || [name, slug].some((text) => text.toLowerCase() === wanted.toLowerCase())) found.push(id);
  }
  if (found.length === 1) return found[0]!;
  if (names.length === 0) throw new UsageError(`There is no board yet. Make one with "${PROGRAM} boards create <name>".`);
  const problem =
    wanted === undefined
      ? "There are several boards."
      : `${found.length === 0 ? "No" : "More than one"} board is named ${wanted}.`;
  throw new UsageError(`${problem} Name one with --board or BOARD: ${names.slice(0, 20).join(", ")}`);
}

/** Searches the boards one by one, because no operation finds a task by its id alone. */
async function searchBoards(client: Client, identity: Identity, task_id: string): Promise<string> {
  const boards = await collect(listBoards(client, identity));
  if (boards.length < 2) return resolveBoard(client, identity, undefined);
  let missing: unknown;
  for (const { id: board_id } of boards) {
    try {
      await client.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: { path: { board_id, task_id } } });
      return board_id;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      missing = error;
    }
  }
  throw missing;
}

/** Returns the lease under which this caller holds a task, if `board next` took it on this machine. */
export function findLease({ config, url, identity }: Session, task_id: string): HeldLease | undefined {
  const lease = config.leases[task_id];
  return lease && lease.url === url && identity.type === "agent" && lease.agent_id === identity.agent_id ? lease : undefined;
}

export function storeLease({ config, url, identity }: Session, task_id: string, board_id: string, fence: number): void {
  if (identity.type !== "agent") return;
  config.leases[task_id] = { url, agent_id: identity.agent_id, board_id, fence };
  config.save();
}

export function forgetLease(session: Session, task_id: string): void {
  if (!findLease(session, task_id)) return;
  delete session.config.leases[task_id];
  session.config.save();
}

export function requireAgent(session: Session, what: string): void {
  if (session.identity.type !== "agent") throw new UsageError(`${what} Sign in with the token of an agent.`);
}
