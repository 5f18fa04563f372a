import { setTimeout as pause } from "node:timers/promises";
import { INTERACTIVE_RETRY, withRetry } from "@board/openclaw/wire/retry";
import type { World } from "../../support/world.ts";
import type { ContractHost } from "./real-host.ts";

/** An agent as returned by the service. */
export interface Actor {
  id: string;
  name: string;
  openclaw_session_id: string;
}

export interface Entry {
  workspace?: string;
  heartbeat?: Record<string, unknown>;
  name?: string;
}

/** Reads the state of a host through its API, also across its restarts. */
export function createHostInspector(world: World, { url, token }: ContractHost) {
  const target = { url, token, disable_device_pairing: false, allow_insecure_tls: false };
  // Tests read answers of every release and assert what they read.
  // oxlint-disable-next-line typescript/no-explicit-any
  const call = (method: string, params: object): Promise<any> =>
    withRetry(INTERACTIVE_RETRY, () => world.context().gateways.request(target, method, params));
  const idOf = ({ openclaw_session_id }: Actor): string => openclaw_session_id.split(":")[1]!;
  const keyOf = ({ openclaw_session_id }: Actor): string => openclaw_session_id;

  /** Returns the text of a file, or null when it is absent or not supported by the host. */
  async function file(actor: Actor, name: string): Promise<string | null> {
    try {
      return (await call("agents.files.get", { agentId: idOf(actor), name })).file.content ?? null;
    } catch (error) {
      if (!String(error).includes("unsupported file")) throw error;
      return null;
    }
  }

  /** Returns the messages of the agent's session. */
  async function history(actor: Actor): Promise<{ role: string; text: string }[]> {
    const { messages } = await call("chat.history", { sessionKey: keyOf(actor), limit: 100 });
    return messages.map(({ role, content }: { role: string; content: string | { text?: string }[] }) => ({
      role,
      // The service inserts invisible word joiners, which keep slashes in other people's text from being read as commands.
      text: (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n")).replaceAll("\u2060", ""),
    }));
  }

  return {
    idOf,
    file,
    /** Returns the content of a file, from AGENTS.md when the host does not support the file. */
    async content(actor: Actor, name: string): Promise<string> {
      return (await file(actor, name)) ?? sectionOf((await file(actor, "AGENTS.md")) ?? "", name);
    },
    write: (actor: Actor, name: string, content: string) => call("agents.files.set", { agentId: idOf(actor), name, content }),
    /** Returns the tokens in the agent's files. */
    async tokens(actor: Actor): Promise<string[]> {
      const names = ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"];
      const texts = await Promise.all(names.map((name) => file(actor, name)));
      return texts.flatMap((text) => [...(text ?? "").matchAll(/^AUTH_TOKEN=(.*)$/gm)].map((match) => match[1]!));
    },
    /** Returns the agents' entries in the host's configuration by id. */
    async entries(): Promise<Map<string, Entry>> {
      const { list = [], entries } = (await call("config.get", {})).config.agents;
      return new Map(entries ? Object.entries(entries) : list.map((entry: Entry & { id: string }) => [entry.id, entry]));
    },
    hash: async (): Promise<string> => (await call("config.get", {})).hash,
    /** Returns the names of the host's agents by id. */
    async roster(): Promise<Map<string, string | undefined>> {
      const { agents } = await call("agents.list", {});
      return new Map(agents.map(({ id, name }: { id: string; name?: string }) => [id, name]));
    },
    /** Returns the settings for all sessions that orders in messages could change. */
    async settings(): Promise<unknown> {
      const { agents, tools } = (await call("config.get", {})).config;
      return { model: agents.defaults?.model, tools };
    },
    async session(actor: Actor): Promise<{ sessionId: string; label?: string } | undefined> {
      const { sessions } = await call("sessions.list", {});
      return sessions.find(({ key }: { key: string }) => key === keyOf(actor));
    },
    history,
    /** Waits until the host has counted what the agent's session has used. Later releases first answer with an earlier count. */
    async counted(actor: Actor): Promise<void> {
      const isCounted = async () => {
        const { cacheStatus } = await call("sessions.usage", { key: keyOf(actor) });
        return cacheStatus === undefined || cacheStatus.status === "fresh";
      };
      await waitUntil(`the use of ${actor.name} is counted`, isCounted);
    },
    /** Waits until an agent has received a message and answered it. Returns how often it received the message. */
    async heard(actor: Actor, words: RegExp): Promise<number> {
      let count = 0;
      await waitUntil(`${actor.name} received ${words} and answered`, async () => {
        const messages = await history(actor);
        count = messages.filter(({ text }) => words.test(text)).length;
        return count > 0 && messages.at(-1)?.role === "assistant";
      });
      return count;
    },
  };
}

const POLL_MS = 250;

/** Waits until a condition is true. Throws after three minutes, since a busy machine starts hosts slowly. */
export async function waitUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 180_000; !(await isSo()); await pause(POLL_MS))
    if (performance.now() > deadline) throw new Error(`Timed out waiting for: ${what}`);
}

export type HostInspector = ReturnType<typeof createHostInspector>;

/** Returns the section of AGENTS.md that holds another file. */
function sectionOf(text: string, name: string): string {
  const [, ...parts] = text.split(/^<!-- file: /m);
  const section = parts.find((part) => part.startsWith(`${name} -->`));
  return section?.slice(section.indexOf("\n") + 1) ?? "";
}
