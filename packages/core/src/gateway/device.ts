import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";

/** What a device signs when it connects. The token is part of the text, so a signature proves both at once. */
export interface DeviceClaim {
  client_id: string;
  client_mode: string;
  role: string;
  scopes: readonly string[];
  /** Milliseconds; newer hosts refuse more than two minutes of skew. */
  signed_at: number;
  token: string | null;
  /** From the host's challenge; without one the older form of the text is signed. */
  nonce: string | null;
}

/** The service's identity towards gateways. A host's operator approves `id` once, so the key must survive redeployment. */
export interface Device {
  /** SHA-256 of the raw public key, lower hex. */
  id: string;
  /** The raw 32 bytes, Base64url without padding. */
  public_key: string;
  /** Base64url without padding. */
  sign(claim: DeviceClaim): string;
}

/** A new Ed25519 private key as Base64 PKCS#8: the form to seal and store. */
export function createDevice(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}

/** Opens what `createDevice` made. Throws when the text holds no Ed25519 private key. */
export function openDevice(serialised: string): Device {
  const key = createPrivateKey({ key: Buffer.from(serialised, "base64"), format: "der", type: "pkcs8" });
  const { x } = createPublicKey(key).export({ format: "jwk" });
  if (key.asymmetricKeyType !== "ed25519" || x === undefined) throw new Error("The device key is not an Ed25519 private key.");
  const id = createHash("sha256").update(Buffer.from(x, "base64url")).digest("hex");
  return { id, public_key: x, sign: (claim) => sign(null, Buffer.from(signedText(id, claim)), key).toString("base64url") };
}

function signedText(id: string, claim: DeviceClaim): string {
  const fields = [id, claim.client_id, claim.client_mode, claim.role, claim.scopes.join(","), claim.signed_at, claim.token ?? ""];
  return claim.nonce === null ? ["v1", ...fields].join("|") : ["v2", ...fields, claim.nonce].join("|");
}
