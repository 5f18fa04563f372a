import { ApiError, type Client, createClient } from "@board/client";
import { hostname } from "node:os";

/** The agent that the runner acts as. */
export interface MachineAgent {
  agent_id: string;
  token: string;
  board_id: string | null;
}

/** Stores the tokens of this machine's agents, by service, board and name. */
export interface AgentStore {
  find(key: string): MachineAgent | null;
  store(key: string, agent: MachineAgent): void;
}

/** Returns the name of the agent that is created for this machine and this tool. */
export const nameOfMachine = (tool: string): string => `${hostname().split(".")[0]!.slice(0, 60)} ${tool}`;

/** Returns this machine's stored agent. If there is none, creates one with the rights of the signed-in person. */
export async function openMachineAgent(
  client: Client,
  url: string,
  { board_id, name }: { board_id: string; name: string },
  store: AgentStore,
): Promise<{ agent: MachineAgent; is_new: boolean }> {
  const key = `${url} ${board_id} ${name}`;
  const stored = store.find(key);
  if (stored && (await isStillValid(url, stored))) return { agent: stored, is_new: false };
  const made = await client.post("/api/v1/agents", { body: { name, board_id, is_board_lead: false } }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 409)
      throw new Error(
        `This board already has an agent named ${name}, and its token is not on this machine. Choose another --name.`,
        { cause: error },
      );
    throw error;
  });
  if (!made.auth_token)
    throw new Error(
      `The connection broke before the token of the new agent ${name} arrived, and the service sends it only once. Remove the agent, or choose another --name.`,
    );
  const agent = { agent_id: made.id, token: made.auth_token, board_id };
  store.store(key, agent);
  return { agent, is_new: true };
}

/** Returns whether the agent still exists. If it was removed, its token is no longer valid. */
async function isStillValid(url: string, { token }: MachineAgent): Promise<boolean> {
  try {
    await createClient({ url, agent_token: token }).get("/api/v1/agent/healthz");
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return false;
    throw error;
  }
}
