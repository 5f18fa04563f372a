import { carry, ownIn, TOOLS, toolsIn, type WorkspaceFile } from "./carrier.ts";
import { GatewayError } from "./client.ts";
import { record } from "./frame.ts";
import type { Host } from "./host.ts";

/** Files that take in what the host refuses, in order of preference. */
const CARRIERS = ["AGENTS.md", "SOUL.md"];
const BOOTSTRAP = "BOOTSTRAP.md";
const REQUIRED_OF_LEADS = ["AGENTS.md", "ROLES.md"];
const REQUIRED_REFUSED = "Gateway rejected required lead workspace files as unsupported";

export interface Written {
  /** How many files were written on the host. */
  files_written: number;
  /** For each file that stands in another one now. */
  warnings: string[];
  /** Set when a host below the minimum refused a file that a lead cannot do without; all others were written. */
  error: string | null;
}

const isUnsupported = (error: unknown): boolean => error instanceof GatewayError && /unsupported file/i.test(error.message);

/** Names of the files that are there; an empty one is. */
export async function listFiles(host: Host, agent_id: string): Promise<ReadonlySet<string>> {
  const payload = await host.call("agents.files.list", { agentId: agent_id });
  const listed = Array.isArray(payload) ? payload : record(payload)?.files;
  const names = (Array.isArray(listed) ? listed : []).flatMap((row: unknown) => {
    const { name, path, missing } = record(row) ?? { name: row };
    const known = typeof name === "string" ? name : typeof path === "string" ? path.split(/[\\/]/).at(-1)! : "";
    return known === "" || missing === true ? [] : [known];
  });
  return new Set(names);
}

/** The text of a file, null when it is not there. Rejects with a GatewayError, also for a file that the host does not support. */
export async function readFile(host: Host, agent_id: string, name: string): Promise<string | null> {
  const payload = await host.call("agents.files.get", { agentId: agent_id, name }, { step: `reading ${name}` });
  if (typeof payload === "string") return payload;
  const { content, missing } = record(record(payload)?.file) ?? record(payload) ?? {};
  return typeof content === "string" && missing !== true ? content : null;
}

/** The same, and undefined for a file that the host does not support. */
async function findFile(host: Host, agent_id: string, name: string): Promise<string | null | undefined> {
  try {
    return await readFile(host, agent_id, name);
  } catch (error) {
    if (isUnsupported(error)) return undefined;
    throw error;
  }
}

/** The file that this host's refused files stand in, with its text; null when it takes neither. */
async function findCarrier(host: Host, agent_id: string): Promise<{ name: string; text: string | null } | null> {
  for (const name of CARRIERS) {
    const text = await findFile(host, agent_id, name);
    if (text !== undefined) return { name, text };
  }
  return null;
}

/** The token as the host's TOOLS.md has it, or what carries TOOLS.md on a host that refuses it; null when it is nowhere. */
export async function readHostToken(
  host: Host,
  agent_id: string,
  parse: (text: string) => string | null,
): Promise<string | null> {
  const tools = await findFile(host, agent_id, TOOLS);
  const text = tools === undefined ? toolsIn((await findCarrier(host, agent_id))?.text ?? "") : tools;
  return text === null ? null : parse(text);
}

/** Has the host see to a workspace, as it would before the agent's next turn: by an update that changes nothing. */
async function lookAfter(host: Host, agent_id: string): Promise<void> {
  const { workspace } = record(await host.call("agents.files.list", { agentId: agent_id })) ?? {};
  if (typeof workspace === "string") await host.inTurn(() => host.call("agents.update", { agentId: agent_id, workspace }));
}

/**
 * Writes files: TOOLS.md alone and first, then the others in their order, without waiting for one another. What the host
 * refuses goes into a file that it takes (contract gateways.md §10.1). `accepted` is called once the host has TOOLS.md,
 * before anything else is written. Blank files are not written. Rejects with a GatewayError.
 */
export async function writeFiles(
  host: Host,
  agent: { id: string; is_lead: boolean },
  files: readonly WorkspaceFile[],
  { below_minimum, accepted }: { below_minimum: boolean; accepted?: () => Promise<void> },
): Promise<Written> {
  const given = new Map(files.filter(({ content }) => content.trim() !== "").map(({ name, content }) => [name, content]));
  const written = new Set<string>();
  const refused = new Set<string>();

  /** False when the host refuses the file. */
  async function write(name: string, content: string): Promise<boolean> {
    try {
      await host.call("agents.files.set", { agentId: agent.id, name, content }, { step: `writing ${name}` });
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      refused.add(name);
      return false;
    }
    written.add(name);
    return true;
  }

  /** Writes the carrier around its own text, which is the host's where none is given. Returns its name. */
  async function writeCarrier(tools: string | null, others: readonly WorkspaceFile[]): Promise<string> {
    for (const name of CARRIERS.filter((one) => !refused.has(one))) {
      const content = given.get(name) ?? ownIn({ name, content: (await findFile(host, agent.id, name)) ?? "" });
      if (await write(name, carry({ name, content }, tools, others))) return name;
    }
    throw new GatewayError(`The host supports neither ${CARRIERS.join(" nor ")}.`, { retryable: false });
  }

  let carrier: string | null = null;
  let carried = given.get(TOOLS) ?? null;
  // A TOOLS.md that is left alone stays where it is, also when that is in another file.
  const kept = carried === null ? await findCarrier(host, agent.id) : null;
  if (carried === null) {
    carried = toolsIn(kept?.text ?? "");
  } else {
    if (await write(TOOLS, carried)) carried = null;
    else carrier = await writeCarrier(carried, []);
    await accepted?.();
  }

  const held_back = carried !== null && carrier === null ? kept!.name : null;
  const waiting = host.dialect.clears_bootstrap ? given.get(BOOTSTRAP) : undefined;
  const left = [...given].filter(
    ([name]) => !written.has(name) && !refused.has(name) && name !== held_back && !(name === BOOTSTRAP && waiting !== undefined),
  );
  const ends = await Promise.allSettled(left.map(([name, content]) => write(name, content)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  if (waiting !== undefined) {
    await lookAfter(host, agent.id);
    await write(BOOTSTRAP, waiting);
  }

  const missed = below_minimum && agent.is_lead ? REQUIRED_OF_LEADS.filter((name) => refused.has(name)) : [];
  const moved = [...given.keys()].filter((name) => refused.has(name) && !missed.includes(name));
  const others = moved.filter((name) => name !== TOOLS).map((name) => ({ name, content: given.get(name)! }));
  if (others.length > 0 || (held_back !== null && given.has(held_back))) carrier = await writeCarrier(carried, others);
  return {
    files_written: written.size,
    warnings: moved.map((name) => `The host does not support ${name}; its content stands in ${carrier}.`),
    error: missed.length > 0 ? REQUIRED_REFUSED : null,
  };
}
