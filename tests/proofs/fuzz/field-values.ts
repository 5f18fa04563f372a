import fc from "fast-check";
import { IdPlaceholder } from "./id-pool.ts";

/** The prefix of every generated secret. If it appears in an answer or a log line, a secret leaked. */
export const SECRET_MARK = "fuzz-secret-";

export const secrets = fc.stringMatching(/^[0-9a-f]{16}$/).map((text) => SECRET_MARK + text);
const numbered = (text: string, count = 100_000) => fc.nat(count).map((number) => text.replace("#", String(number)));

/** Stands for the URL of the fake host or of the receiver of events, because requests may be generated before these start. */
export class ServerUrl {
  readonly server: "host" | "receiver";
  constructor(server: ServerUrl["server"]) {
    this.server = server;
  }
}

const SERVERS = fc.oneof(
  { weight: 4, arbitrary: fc.constant(new ServerUrl("host")) },
  { weight: 4, arbitrary: fc.constant(new ServerUrl("receiver")) },
  // Addresses that are refused or fail at once. For a public address that does not answer, the service would wait.
  {
    weight: 1,
    arbitrary: fc.constantFrom("wss://10.0.0.1", "ws://[::1]:9", "http://169.254.169.254/latest", "ws://127.0.0.1@10.0.0.1"),
  },
);

const MESSAGES = fc.nat(1_000).map((nth) => new IdPlaceholder("message", nth, "own"));

/** Values that suit the meaning of a field, by the field's name, since schemas do not describe it. */
export const FIELD_VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  url: SERVERS,
  gateway_url: fc.constant(new ServerUrl("host")),
  workspace_root: fc.constantFrom("/srv/agents", "~/agents", "C:\\agents"),
  secret: secrets,
  /** A token of a host or of an invite. */
  token: fc.oneof(
    { weight: 3, arbitrary: fc.nat(1_000).map((nth) => new IdPlaceholder("invite_token", nth, "own")) },
    { weight: 2, arbitrary: fc.constant("test-token-123") },
    { weight: 1, arbitrary: secrets },
  ),
  gateway_token: fc.oneof(fc.constantFrom("test-token-123"), secrets),
  signature_header: fc.constantFrom("X-Signature", "stripe-signature", "bad header", "x-agent-token"),
  event_types: fc.constantFrom(["push", "issues.*"], ["*"], [], null),
  source_url: fc.oneof(
    numbered("https://github.com/acme/pack", 0),
    numbered("https://github.com/acme/pack-#"),
    numbered("https://example.com/skill-#"),
  ),
  invited_email: fc.oneof(
    { weight: 1, arbitrary: fc.nat(1_000).map((nth) => new IdPlaceholder("email", nth, "own")) },
    { weight: 2, arbitrary: numbered("guest-#@example.com") },
  ),
  field_key: fc.stringMatching(/^[a-z]{3,8}$/),
  validation_regex: fc.constantFrom("^.{0,5}$", "(", "(?=x)", "(a+)+$", "[\\p{L}]", "\\1"),
  priority: fc.constantFrom("low", "medium", "high", "urgent"),
  custom_field_values: fc.constant({}),
  identity_profile: fc.constant({ role: "Reviewer", communication_style: "brief" }),
  heartbeat_config: fc.constantFrom({ every: "10m" }, { every: "10m", target: "none" }),
  /** A small limit would exclude its agent from later requests. */
  requests_per_minute: fc.constantFrom(null, 100_000),
  /** A required field would prevent tasks on its boards. */
  required: fc.nat(15).map((number) => number === 0),
  /** A changed token would exclude its agent from later requests. */
  rotate_tokens: fc.constant(false),
  timezone: fc.constantFrom("Europe/Berlin", "UTC"),
  name: numbered("Name #"),
  slug: numbered("slug-#"),
  /** Messages of an inbox. */
  through: MESSAGES,
  ids: MESSAGES,
  since: fc.constantFrom("null", "", "2026-11-20T10:24:09+02:00", "2026-11-20T10:24:09 02:00", "2099-01-01"),
  search: fc.constantFrom("name", "%", "_", "\\"),
  category: fc.constantFrom("tools", "uncategorized"),
  risk: fc.constantFrom("none", "safe"),
  range: fc.constantFrom("24h", "7d", "1y"),
  answer: fc.constant("Yes"),
  session_id: fc.constantFrom("main", "agent:lead:main", "a/b?c=d"),
};
