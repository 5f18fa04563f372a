import { setTimeout as pause } from "node:timers/promises";
import { COORDINATION_RETRY, withRetry } from "@board/core/gateway/retry";
import type { World } from "../support/world.ts";
import type { ContractHost } from "./real-host.ts";

/** An agent as the service tells of it. */
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

/** Looks at a host from the outside, patient with one that restarts. */
export function createPeer(world: World, { url, token }: ContractHost) {
  const target = { url, token, disable_device_pairing: false, allow_insecure_tls: false };
  // Tests read answers of every release; each asserts what it reads.
  // oxlint-disable-next-line typescript/no-explicit-any
  const call = (method: string, params: object): Promise<any> =>
    withRetry(COORDINATION_RETRY, () => world.context().gateways.request(target, method, params));
  const idOf = ({ openclaw_session_id }: Actor): string => openclaw_session_id.split(":")[1]!;
  const keyOf = ({ openclaw_session_id }: Actor): string => openclaw_session_id;

  /** The text of a file, null when it is absent or nothing that the host takes. */
  async function file(actor: Actor, name: string): Promise<string | null> {
    try {
      return (await call("agents.files.get", { agentId: idOf(actor), name })).file.content ?? null;
    } catch (error) {
      if (!String(error).includes("unsupported file")) throw error;
      return null;
    }
  }

  /** Everything said in the agent's session, one text per message. */
  async function history(actor: Actor): Promise<{ role: string; text: string }[]> {
    const { messages } = await call("chat.history", { sessionKey: keyOf(actor), limit: 100 });
    return messages.map(({ role, content }: { role: string; content: string | { text?: string }[] }) => ({
      role,
      text: typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n"),
    }));
  }

  return {
    idOf,
    file,
    /** A file's content where the host takes it, else where it stands in AGENTS.md. */
    async content(actor: Actor, name: string): Promise<string> {
      return (await file(actor, name)) ?? sectionOf((await file(actor, "AGENTS.md")) ?? "", name);
    },
    write: (actor: Actor, name: string, content: string) => call("agents.files.set", { agentId: idOf(actor), name, content }),
    /** The token in each file that has one. */
    async tokens(actor: Actor): Promise<string[]> {
      const names = ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"];
      const texts = await Promise.all(names.map((name) => file(actor, name)));
      return texts.flatMap((text) => [...(text ?? "").matchAll(/^AUTH_TOKEN=(.*)$/gm)].map((match) => match[1]!));
    },
    /** The agents' entries in the host's configuration, by id. */
    async entries(): Promise<Map<string, Entry>> {
      const { list = [], entries } = (await call("config.get", {})).config.agents;
      return new Map(entries ? Object.entries(entries) : list.map((entry: Entry & { id: string }) => [entry.id, entry]));
    },
    hash: async (): Promise<string> => (await call("config.get", {})).hash,
    /** Names of the agents that the host has, by id. */
    async roster(): Promise<Map<string, string | undefined>> {
      const { agents } = await call("agents.list", {});
      return new Map(agents.map(({ id, name }: { id: string; name?: string }) => [id, name]));
    },
    async session(actor: Actor): Promise<{ sessionId: string; label?: string } | undefined> {
      const { sessions } = await call("sessions.list", {});
      return sessions.find(({ key }: { key: string }) => key === keyOf(actor));
    },
    history,
    /** Waits until an agent was told something, and has said its piece. Returns how often it was told. */
    async heard(actor: Actor, words: RegExp): Promise<number> {
      let told = 0;
      await until(`${actor.name} was told ${words} and answered`, async () => {
        const said = await history(actor);
        told = said.filter(({ text }) => words.test(text)).length;
        return told > 0 && said.at(-1)?.role === "assistant";
      });
      return told;
    },
  };
}

const LOOK_MS = 250;

/** Looks until something is so. Throws after a minute. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await isSo()); await pause(LOOK_MS))
    if (performance.now() > deadline) throw new Error(`Waited for in vain: ${what}`);
}

export type Peer = ReturnType<typeof createPeer>;

/** The part of a file that stands under another file's name. */
function sectionOf(text: string, name: string): string {
  const [, ...parts] = text.split(/^<!-- file: /m);
  const found = parts.find((part) => part.startsWith(`${name} -->`));
  return found?.slice(found.indexOf("\n") + 1) ?? "";
}
