import { COMMON, LEAD, MAIN, PERSON, WORKER } from "../guidance/mcp-texts.ts";
import { fenced, labelled } from "./fenced.ts";
import type { Caller } from "./tool.ts";

/** Returns the instructions about the tools that a client gives its model, for the role of the caller. */
export function instructionsFor(actor: Caller): string {
  if (actor.type === "user") return `${PERSON}\n\n${COMMON}`;
  const role = actor.board_id === null ? MAIN : actor.is_board_lead ? LEAD : WORKER;
  const board = actor.board_id === null ? "" : ` on board ${actor.board_id}`;
  const name = fenced("What people call you", { shown: labelled({ Name: actor.name }), rest: null });
  return [`You are agent ${actor.agent_id}${board}. ${role}`, "", COMMON, "", ...name].join("\n");
}
