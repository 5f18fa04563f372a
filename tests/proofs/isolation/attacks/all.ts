/** Every attack, in the order of the table that the run ends with. */
import type { Attack } from "../attacker.ts";
import { hostAttacks } from "./hosts.ts";
import { receiverAttacks } from "./receivers.ts";
import { requestAttacks } from "./requests.ts";
import { credentialAttacks } from "./credentials.ts";
import { socketAttacks } from "./sockets.ts";
import { strangerAttacks } from "./strangers.ts";
import { textAttacks } from "./texts.ts";
import { workAttacks } from "./work.ts";

export interface AttackPlan {
  run: Attack;
  /** Longer than the usual time if the service first has to notice something. */
  seconds?: number;
  /** The duration on the embedded database, if it differs from the usual one there. Attacks that need preparation take longer. */
  embedded_seconds?: number;
  /** Settings of the server on PostgreSQL, where each attack has its own server. */
  environment?: Record<string, string>;
  /** Modules that the server has to load for this attack. */
  preloads?: readonly string[];
}

export const attacks: Readonly<Record<string, AttackPlan>> = {
  "nothing, for comparison": { run: async () => {} },
  ...hostAttacks,
  ...textAttacks,
  ...requestAttacks,
  ...socketAttacks,
  ...workAttacks,
  ...receiverAttacks,
  ...strangerAttacks,
  ...credentialAttacks,
};
