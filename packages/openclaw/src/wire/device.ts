import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";

/**
 * What a device signs when it connects. The text contains the token, so one signature proves that it has both the key and the
 * token.
 */
interface DeviceClaim {
  client_id: string;
  client_mode: string;
  role: string;
  scopes: readonly string[];
  /**
   * The time of the signature in milliseconds. Newer hosts refuse a time that differs from their clock by more than two minutes.
   */
  signed_at: number;
  token: string | null;
  /** The nonce from the host's challenge. Without a nonce, the older format is signed. */
  nonce: string | null;
}

/** The service's identity towards gateways. A host's operator approves `id` once, so the key must survive redeployments. */
export interface Device {
  /** SHA-256 of the raw public key in lower-case hex. */
  id: string;
  /** The raw 32 bytes of the public key, Base64url without padding. */
  public_key: string;
  /** Returns the signature, Base64url without padding. */
  sign(claim: DeviceClaim): string;
}

/** Creates an Ed25519 private key, serialized as Base64 PKCS#8 so that it can be sealed and stored. */
export function createDeviceKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}

/** Loads a key serialized by `createDeviceKey`. Throws when it is not an Ed25519 private key. */
export function loadDevice(serialized: string): Device {
  const key = createPrivateKey({ key: Buffer.from(serialized, "base64"), format: "der", type: "pkcs8" });
  const { x } = createPublicKey(key).export({ format: "jwk" });
  if (key.asymmetricKeyType !== "ed25519" || x === undefined) throw new Error("The device key is not an Ed25519 private key.");
  const id = createHash("sha256").update(Buffer.from(x, "base64url")).digest("hex");
  return { id, public_key: x, sign: (claim) => sign(null, Buffer.from(signaturePayload(id, claim)), key).toString("base64url") };
}

function signaturePayload(id: string, claim: DeviceClaim): string {
  const fields = [id, claim.client_id, claim.client_mode, claim.role, claim.scopes.join(","), claim.signed_at, claim.token ?? ""];
  return claim.nonce === null ? ["v1", ...fields].join("|") : ["v2", ...fields, claim.nonce].join("|");
}
