import { generateKeyPairSync, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A self-signed certificate in PEM. A server uses `cert`, and its clients trust it as `ca`. */
export interface Certificate {
  key: string;
  cert: string;
}

const DAY_MS = 86_400_000;

/** Creates a certificate for host names and IPv4 addresses, valid from yesterday until tomorrow (RFC 5280, ECDSA P-256). */
export function makeCertificate(...names: string[]): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = sequence(der(SET, sequence(oid("550403"), der(UTF8, Buffer.from("board tests")))));
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const alternatives = sequence(...names.map(alternativeName));
  const body = sequence(
    der(EXPLICIT_0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    algorithm,
    issuer,
    sequence(instant(Date.now() - DAY_MS), instant(Date.now() + DAY_MS)),
    issuer,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXPLICIT_3, sequence(sequence(oid("551d11"), der(OCTETS, alternatives)))),
  );
  const signature = der(BITS, Buffer.from([0]), sign("sha256", body, privateKey));
  const base64 = sequence(body, algorithm, signature).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}

const INTEGER = 0x02;
const BITS = 0x03;
const OCTETS = 0x04;
const OID = 0x06;
const UTF8 = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
const EXPLICIT_0 = 0xa0;
const EXPLICIT_3 = 0xa3;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/** Encodes tag, length and content (X.690), up to 65,535 bytes. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => der(SEQUENCE, ...parts);
const oid = (hex: string) => der(OID, Buffer.from(hex, "hex"));
const instant = (ms: number) => der(UTC_TIME, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, "").slice(2, 14)}Z`));
const alternativeName = (name: string) =>
  isIPv4(name) ? der(IP_ADDRESS, Buffer.from(name.split(".").map(Number))) : der(DNS_NAME, Buffer.from(name));
