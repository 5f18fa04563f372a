import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

/** Creates a secret in the format of Standard Webhooks. */
export const createSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("base64");

/** Returns the value of the header `webhook-signature` of Standard Webhooks, with one signature for each secret. */
export const signMessage = (secrets: readonly string[], id: string, timestamp: string, body: string): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    })
    .join(" ");
