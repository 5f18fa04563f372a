import { createSocket } from "node:dgram";
import { isIPv4 } from "node:net";

/** How the server answers about a name: with its addresses, that the name does not exist, with a failure, or not at all. */
export type Records = readonly string[] | "missing" | "failed" | "silent";
export type RecordType = "A" | "AAAA";

interface NameServer {
  /** The address and port, in the form that `Resolver.setServers` takes. */
  address: string;
  /** The queries so far, such as `A host.example`. */
  queries: string[];
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, RecordType>> = { 1: "A", 28: "AAAA" };
const HEADER_BYTES = 12;
const NO_ERROR = 0;
const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;

/** Starts a name server on loopback (RFC 1035, over UDP) that answers, or stays silent, as `find` decides. */
export async function startNameServer(find: (name: string, type: RecordType) => Records, port = 0): Promise<NameServer> {
  const socket = createSocket("udp4");
  const queries: string[] = [];
  socket.on("message", (query, { port: replyPort, address }) => {
    const { name, end } = readName(query);
    const type = TYPES[query.readUInt16BE(end)];
    queries.push(`${type} ${name}`);
    const records = type === undefined ? [] : find(name, type);
    if (records !== "silent") socket.send(toAnswer(query, end, records, type), replyPort, address);
  });
  await new Promise<void>((resolve) => socket.bind(port, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

function toAnswer(query: Buffer, end: number, records: Exclude<Records, "silent">, type: RecordType | undefined): Buffer {
  const found = typeof records === "string" ? [] : records.filter((address) => isIPv4(address) === (type === "A"));
  const code = records === "missing" ? NO_SUCH_NAME : records === "failed" ? SERVER_FAILURE : NO_ERROR;
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  // An answer with recursion; one question and the found records follow.
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(found.length, 6);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end + 4), ...found.map(toRecord)]);
}

function toRecord(address: string): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split(".").map(Number)) : ipv6Bytes(address);
  const record = Buffer.alloc(12);
  // The name of the question, class IN, time to live 0.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(isIPv4(address) ? 1 : 28, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}

function ipv6Bytes(address: string): Buffer {
  const [before = "", after = ""] = address.split("::");
  const words = (text: string) => (text === "" ? [] : text.split(":"));
  const zeros = Array.from({ length: 8 - words(before).length - words(after).length }, () => "0");
  const bytes = Buffer.alloc(16);
  [...words(before), ...zeros, ...words(after)].forEach((word, index) =>
    bytes.writeUInt16BE(Number.parseInt(word, 16), index * 2),
  );
  return bytes;
}
