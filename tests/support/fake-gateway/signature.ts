import { createHash, createPublicKey, verify } from "node:crypto";

/** The `device` of a connect and the values that its signature covers. */
interface SignedConnect {
  client: { id: string; mode: string; platform: string; deviceFamily?: string };
  role: string;
  scopes: readonly string[];
  token: string;
  device: { id: string; publicKey: string; signature: string; signedAt: number; nonce?: string };
}

/** Returns the SHA-256 of the raw key in lower-case hex, or null if the text is not a 32-byte key. */
export function deviceIdOf(publicKey: string): string | null {
  const raw = Buffer.from(publicKey, "base64url");
  return raw.length === 32 ? createHash("sha256").update(raw).digest("hex") : null;
}

/** Checks whether the signature matches one of the formats: v3 or v2 with a nonce, v1 without. */
export function isSignatureValid({ client, role, scopes, token, device }: SignedConnect): boolean {
  const fields = [device.id, client.id, client.mode, role, scopes.join(","), device.signedAt, token];
  const forms =
    device.nonce === undefined
      ? [["v1", ...fields]]
      : [
          ["v2", ...fields, device.nonce],
          ["v3", ...fields, device.nonce, client.platform.toLowerCase(), (client.deviceFamily ?? "").toLowerCase()],
        ];
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: device.publicKey }, format: "jwk" });
  const signature = Buffer.from(device.signature, "base64url");
  return forms.some((form) => verify(null, Buffer.from(form.join("|")), key, signature));
}
