import { DomainError } from "../values/errors.ts";
import type { Signature } from "./source/signature.ts";

const MAX_AGE_MS = 5 * 60_000;

/** Checks the signature against the secrets, then its age (docs/reference/webhooks.md#signature). Throws if a check fails. */
export function verifySignature(secrets: readonly string[], signature: Signature, body: Uint8Array, now: Date): void {
  if (signature === "missing") throw new DomainError("forbidden", "Missing webhook signature header.");
  if (signature === "malformed" || !secrets.some((secret) => signature.matches(secret, body)))
    throw new DomainError("forbidden", "Invalid webhook signature.");
  // The condition is negated so that it also refuses NaN. A scheme with a time requires a valid time.
  if (signature.sentAt && !(Math.abs(now.getTime() - signature.sentAt(body)) <= MAX_AGE_MS))
    throw new DomainError(
      "forbidden",
      "The webhook signature is not from the last 5 minutes. Check the clock of the sender and send the request again.",
    );
}
