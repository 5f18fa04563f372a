/** Finds what is wrong with a value; texts as the host's own validator words them. `at` is a JSON pointer, blank for the root. */
export type Check = (value: unknown, at: string) => string[];

const wrong = (at: string, text: string): string[] => [at === "" ? text : `at ${at}: ${text}`];

export const anything: Check = () => [];

export const flag: Check = (value, at) => (typeof value === "boolean" ? [] : wrong(at, "must be boolean"));

/** Text of `min` to `max` characters; one at least unless stated. */
export function text({ min = 1, max = Number.POSITIVE_INFINITY } = {}): Check {
  return (value, at) => {
    if (typeof value !== "string") return wrong(at, "must be string");
    if (value.length < min) return wrong(at, `must NOT have fewer than ${min} characters`);
    return value.length > max ? wrong(at, `must NOT have more than ${max} characters`) : [];
  };
}

export function integer({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Check {
  return (value, at) => {
    if (!Number.isInteger(value)) return wrong(at, "must be integer");
    const number = value as number;
    if (number < min) return wrong(at, `must be >= ${min}`);
    return number > max ? wrong(at, `must be <= ${max}`) : [];
  };
}

function oneOf(values: readonly string[]): Check {
  return (value, at) => (values.includes(value as string) ? [] : wrong(at, "must be equal to one of the allowed values"));
}

export function orNull(check: Check): Check {
  return (value, at) => (value === null ? [] : check(value, at));
}

export function listOf(check: Check): Check {
  return (value, at) =>
    Array.isArray(value) ? value.flatMap((entry, position) => check(entry, `${at}/${position}`)) : wrong(at, "must be array");
}

/** A closed object: a key that is not named here is refused. */
export function shape(required: Record<string, Check>, optional: Record<string, Check> = {}): Check {
  const known = new Map(Object.entries({ ...required, ...optional }));
  return (value, at) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong(at, "must be object");
    const missing = Object.keys(required).filter((key) => !(key in value));
    return [
      ...missing.flatMap((key) => wrong(at, `must have required property '${key}'`)),
      ...Object.entries(value).flatMap(
        ([key, entry]) => known.get(key)?.(entry, `${at}/${key}`) ?? wrong(at || "root", `unexpected property '${key}'`),
      ),
    ];
  };
}

/** A request frame. */
export const requestFrame = shape({ type: oneOf(["req"]), id: text(), method: text() }, { params: anything });

const clientIds = (
  "webchat-ui openclaw-control-ui webchat cli gateway-client openclaw-macos openclaw-ios openclaw-android " +
  "node-host test fingerprint openclaw-probe"
).split(" ");

/** The params of `connect`. */
export function connectSchema(nonceRequired: boolean): Check {
  const device = { id: text(), publicKey: text(), signature: text(), signedAt: integer() };
  const client = {
    id: oneOf(clientIds),
    version: text(),
    platform: text(),
    mode: oneOf(["webchat", "cli", "ui", "backend", "node", "probe", "test"]),
  };
  const clientExtras = { displayName: text(), deviceFamily: text(), modelIdentifier: text(), instanceId: text() };
  return shape(
    { minProtocol: integer({ min: 1 }), maxProtocol: integer({ min: 1 }), client: shape(client, clientExtras) },
    {
      role: text(),
      scopes: listOf(text()),
      device: nonceRequired ? shape({ ...device, nonce: text() }) : shape(device, { nonce: text() }),
      auth: shape({}, { token: text({ min: 0 }), password: text({ min: 0 }) }),
      caps: listOf(text()),
      commands: listOf(text()),
      permissions: anything,
      pathEnv: text({ min: 0 }),
      locale: text({ min: 0 }),
      userAgent: text({ min: 0 }),
    },
  );
}
