import * as z from "zod";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { GatewayError, type GatewayHello } from "./client.ts";
import { findTarget, type TargetQuery } from "./resolve-target.ts";

export const GatewayCommands = z
  .object({
    protocol_version: z.int().describe("Wire protocol."),
    methods: z.array(z.string()).describe("Methods of the host; those this service uses when no host answers."),
    events: z.array(z.string()).describe("Events of the host; those this service handles when no host answers."),
  })
  .meta({ id: "GatewayCommands", description: "What a host understands." });
export type GatewayCommands = z.infer<typeof GatewayCommands>;

/** What every host is expected to have (contract gateways.md §8). */
const KNOWN: GatewayCommands = {
  protocol_version: 4,
  methods: [
    "health",
    "config.get",
    "config.patch",
    "agents.list",
    "agents.create",
    "agents.update",
    "agents.delete",
    "agents.files.list",
    "agents.files.get",
    "agents.files.set",
    "sessions.list",
    "sessions.patch",
    "sessions.reset",
    "sessions.delete",
    "chat.send",
    "chat.history",
    "chat.abort",
  ],
  events: ["connect.challenge", "shutdown"],
};

/** A list that is the same anyway is not waited for. */
const HELLO_MS = 5_000;

/** What the host says of itself, else what this service knows. Needs no gateway: only one that is named must be there. */
export async function getGatewayCommands(ctx: Context<Admin>, query: TargetQuery): Promise<GatewayCommands> {
  const host = await findTarget(ctx, query);
  const hello = host && (await ctx.gateways.hello(host.target, { timeout_ms: HELLO_MS }).catch(noHello));
  if (!hello) return KNOWN;
  return { protocol_version: hello.protocol, methods: [...hello.methods], events: [...hello.events] };
}

/** Not noted as the gateway's state: 5 s are too few to call a host away. */
function noHello(error: unknown): GatewayHello | null {
  if (error instanceof GatewayError) return null;
  throw error;
}
