import { readFileSync } from "node:fs";
import path from "node:path";
import { type MachineAgent, nameOfMachine, openMachineAgent } from "@board/runner/agent-of-machine";
import type { Run } from "../cli.ts";
import { writePrivateFile } from "../config.ts";
import type { Session } from "../session.ts";

/**
 * Returns the agent that the runner acts as: the agent that is signed in, or one that the signed-in person creates for this
 * machine.
 */
export async function findAgent(
  run: Run,
  session: Session,
  wanted: string | undefined,
  tool: string,
): Promise<{ runner: MachineAgent; name: string }> {
  const { identity, token, config, url, client } = session;
  if (identity.type === "agent") {
    const board_id = session.namesBoard ? await session.findBoardId() : identity.board_id;
    return { runner: { agent_id: identity.agent_id, token, board_id }, name: wanted ?? "The agent" };
  }
  const board_id = await session.findBoardId();
  const name = wanted ?? nameOfMachine(tool);
  const { agent, is_new } = await openMachineAgent(
    client,
    url,
    { board_id, name },
    {
      find(key) {
        const stored = config.runners[key];
        if (!stored) return null;
        try {
          return { agent_id: stored.agent_id, board_id, token: readFileSync(stored.token_file, "utf8").trim() };
        } catch {
          return null;
        }
      },
      store(key, { agent_id, token: agentToken }) {
        const token_file = path.join(config.folder, "agents", `${agent_id}.token`);
        writePrivateFile(token_file, `${agentToken}\n`);
        config.runners[key] = { agent_id, token_file };
        config.save();
      },
    },
  );
  if (is_new)
    run.output.event({ event: "agent", agent_id: agent.agent_id, name }, () => run.output.line(`Agent ${name} is made.`));
  return { runner: agent, name };
}
