/** Names for a server process: the preload `names.cjs`, and the name server that its queries reach. */
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export interface Names {
  /** The environment that `names.cjs` reads. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on no name resolves. */
  stop(): void;
  start(): void;
  close(): Promise<void>;
}

const TYPE_A = 1;

export async function startNames(): Promise<Names> {
  const folder = mkdtempSync(path.join(tmpdir(), "board-names-"));
  const pipe = path.join(folder, "names-pipe");
  const down = path.join(folder, "names-down");
  execFileSync("mkfifo", [pipe]);
  const socket = createSocket("udp4");
  socket.on("message", (query, { port }) => {
    const { name, type, end } = readQuestion(query);
    if (name.endsWith(".slow.test") || existsSync(down)) return;
    socket.send(answerTo(query.subarray(0, end), name.endsWith(".test"), type), port, "127.0.0.1");
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    env: { NAMES_DOWN: down, NAMES_PIPE: pipe, NAMES_SERVER: `127.0.0.1:${socket.address().port}` },
    stop: () => writeFileSync(down, ""),
    start: () => rmSync(down, { force: true }),
    async close() {
      socket.close();
      await once(socket, "close");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Reads the question of a DNS message, which starts after the header of 12 bytes: labels, a zero byte, type and class. */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let size = query[at]!; size > 0; size = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + size).toLowerCase());
    at += 1 + size;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Builds an answer with this machine's address, without records for other types, or that the name does not exist. */
function answerTo(question: Buffer, exists: boolean, type: number): Buffer {
  const header = Buffer.from(question);
  const has_address = exists && type === TYPE_A;
  header.writeUInt16BE(exists ? 0x8180 : 0x8183, 2);
  header.writeUInt16BE(has_address ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  // A pointer to the name in the question, type A, class IN, 60 seconds, 4 bytes.
  const record = Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
  return has_address ? Buffer.concat([header, record]) : header;
}
