/** Returns the problems of a value, with the texts of the host's validator. `at` is a JSON pointer, blank for the root. */
export type Validator = (value: unknown, at: string) => string[];

const invalid = (at: string, text: string): string[] => [at === "" ? text : `at ${at}: ${text}`];

export const anyValue: Validator = () => [];

export const flag: Validator = (value, at) => (typeof value === "boolean" ? [] : invalid(at, "must be boolean"));

/** Returns a validator for text of `min` to `max` characters, by default at least one. */
export function text({ min = 1, max = Number.POSITIVE_INFINITY } = {}): Validator {
  return (value, at) => {
    if (typeof value !== "string") return invalid(at, "must be string");
    if (value.length < min) return invalid(at, `must NOT have fewer than ${min} characters`);
    return value.length > max ? invalid(at, `must NOT have more than ${max} characters`) : [];
  };
}

export function integer({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Validator {
  return (value, at) => {
    if (!Number.isInteger(value)) return invalid(at, "must be integer");
    const number = value as number;
    if (number < min) return invalid(at, `must be >= ${min}`);
    return number > max ? invalid(at, `must be <= ${max}`) : [];
  };
}

function oneOf(values: readonly string[]): Validator {
  return (value, at) => (values.includes(value as string) ? [] : invalid(at, "must be equal to one of the allowed values"));
}

export function orNull(check: Validator): Validator {
  return (value, at) => (value === null ? [] : check(value, at));
}

export function listOf(check: Validator): Validator {
  return (value, at) =>
    Array.isArray(value) ? value.flatMap((entry, position) => check(entry, `${at}/${position}`)) : invalid(at, "must be array");
}

/** Returns a validator for a strict object, which rejects unknown keys. */
export function shape(required: Record<string, Validator>, optional: Record<string, Validator> = {}): Validator {
  const known = new Map(Object.entries({ ...required, ...optional }));
  return (value, at) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return invalid(at, "must be object");
    const missing = Object.keys(required).filter((key) => !(key in value));
    return [
      ...missing.flatMap((key) => invalid(at, `must have required property '${key}'`)),
      ...Object.entries(value).flatMap(
        ([key, entry]) => known.get(key)?.(entry, `${at}/${key}`) ?? invalid(at || "root", `unexpected property '${key}'`),
      ),
    ];
  };
}

/** Validates a request frame. */
export const requestFrame = shape({ type: oneOf(["req"]), id: text(), method: text() }, { params: anyValue });

const clientIds = (
  "webchat-ui openclaw-control-ui webchat cli gateway-client openclaw-macos openclaw-ios openclaw-android " +
  "node-host test fingerprint openclaw-probe"
).split(" ");

/** Returns a validator for the params of `connect`. */
export function connectSchema(nonceRequired: boolean): Validator {
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
      permissions: anyValue,
      pathEnv: text({ min: 0 }),
      locale: text({ min: 0 }),
      userAgent: text({ min: 0 }),
    },
  );
}
