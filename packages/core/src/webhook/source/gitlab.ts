import { createHash, timingSafeEqual } from "node:crypto";
import { after, dotted, firstTextAt, plural, textAt, valueAt, words } from "./fields.ts";
import { readStandardSignature, type Signature } from "./signature.ts";
import type { Source } from "./source.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest();

/** https://docs.gitlab.com/user/project/integrations/webhooks/ */
export const gitlab: Source = {
  signature_headers: ["x-gitlab-token", "webhook-signature"],
  readSignature,
  // X-Gitlab-Event-UUID does not identify a delivery: if a webhook causes another event, the second event has the UUID of the
  // first.
  deliveryId: (headers) => headers.get("idempotency-key") ?? headers.get("webhook-id"),
  eventType: (_headers, body) => dotted(valueAt(body, "object_kind"), valueAt(body, "object_attributes", "action")),
  summarize(event_type, body) {
    const project = firstTextAt(body, ["project", "path_with_namespace"], ["group", "full_path"]);
    const sender = after("by", firstTextAt(body, ["user", "username"], ["user_username"]));
    const commits = valueAt(body, "total_commits_count");
    if (event_type === "push" && typeof commits === "number")
      return words("GitLab push:", plural(commits, "commit"), after("to", project), sender);
    const number = textAt(body, "object_attributes", "iid");
    const title = firstTextAt(body, ["object_attributes", "title"], ["object_attributes", "name"], ["ref"]);
    return words(`GitLab ${event_type}:`, number && `#${number}`, title, after("in", project), sender);
  },
};

/**
 * Reads GitLab's signature. GitLab sends the secret token itself or, if a signing token (`whsec_…`) is configured, a Standard
 * Webhooks signature.
 */
function readSignature(headers: Headers): Signature {
  const token = headers.get("x-gitlab-token");
  const signed = readStandardSignature(headers);
  if (typeof signed === "string") {
    if (!token) return signed;
    return { matches: (secret) => !isSigningToken(secret) && isSameText(token, secret) };
  }
  return {
    ...signed,
    matches: (secret, body) =>
      isSigningToken(secret) ? signed.matches(secret, body) : token !== null && isSameText(token, secret),
  };
}

const isSigningToken = (secret: string) => secret.startsWith("whsec_");
/**
 * Compares digests instead of the texts, because all digests have the same length. So the duration does not reveal the length of
 * the secret.
 */
const isSameText = (text: string, secret: string) => timingSafeEqual(sha256(text), sha256(secret));
