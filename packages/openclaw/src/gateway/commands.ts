import * as z from "zod";
import type { Admin } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { asGatewayError, GatewayError } from "../wire/gateway-error.ts";
import { noHost } from "@board/core/agent/pull-gateway";
import { findTarget, type TargetQuery } from "./resolve-target.ts";
import { lazyObject } from "@board/core/values/wire";

export const GatewayCommands = lazyObject(() => ({
  protocol_version: z.int().describe("Version of the wire protocol."),
  methods: z.array(z.string()).describe("Methods of the host, or those that this service uses when no host answers."),
  events: z.array(z.string()).describe("Events of the host, or those that this service handles when no host answers."),
})).meta({ id: "GatewayCommands", description: "Methods and events that a host supports." });
export type GatewayCommands = z.infer<typeof GatewayCommands>;

/** What every host is expected to support (docs/reference/gateways.md#host-methods). */
const DEFAULT_COMMANDS: GatewayCommands = {
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

/** The time limit is short, because most hosts support exactly the defaults, which are returned after a timeout. */
const HELLO_TIMEOUT_MS = 5_000;

/** Returns what the host reports, or the defaults when it does not answer. Throws only for a gateway that the query names. */
export async function getGatewayCommands(ctx: Context<Admin>, query: TargetQuery): Promise<GatewayCommands> {
  const host = await findTarget(ctx, query);
  if (host?.stored?.kind === "pull") throw noHost();
  const hello = host && (await ctx.gateways.hello(host.target, { timeout_ms: HELLO_TIMEOUT_MS }).catch(asGatewayError));
  // A failure is not recorded as the gateway's connectivity, because 5 s are too short to call a host unreachable.
  if (!hello || hello instanceof GatewayError) return DEFAULT_COMMANDS;
  return { protocol_version: hello.protocol, methods: [...hello.methods], events: [...hello.events] };
}
