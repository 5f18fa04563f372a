import type { subscription_deliveries } from "../schema/subscription.sql.ts";

export type DeliveryRow = typeof subscription_deliveries.$inferSelect;

const TX_DIGITS = 20;
const SEQ_DIGITS = 19;

/** Returns the event's position in commit order. It is zero-padded, so that receivers can compare it as a string. */
export const toSequence = ({ tx, seq }: Pick<DeliveryRow, "tx" | "seq">): string =>
  `${tx.padStart(TX_DIGITS, "0")}.${String(seq).padStart(SEQ_DIGITS, "0")}`;
