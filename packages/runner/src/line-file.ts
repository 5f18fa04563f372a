import { readSync, writeSync } from "node:fs";

/** Writes all bytes at a position. A disk that becomes full takes a part of them before it reports an error. */
export function writeAt(descriptor: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
}

const CHUNK = 65_536;

/** Reads the complete lines of a file, beginning at an offset, in pieces. */
export function* readFrom(descriptor: number, start: number, end = Number.POSITIVE_INFINITY) {
  let rest = Buffer.alloc(0);
  let at = start;
  let next = start;
  while (next < end) {
    const chunk = Buffer.alloc(CHUNK);
    const read = readSync(descriptor, chunk, 0, CHUNK, next);
    if (read === 0) return;
    next += read;
    rest = Buffer.concat([rest, chunk.subarray(0, read)]);
    let from = 0;
    for (let stop = rest.indexOf(10); stop >= 0; stop = rest.indexOf(10, from)) {
      yield { text: rest.toString("utf8", from, stop), offset: at, length: stop + 1 - from };
      at += stop + 1 - from;
      from = stop + 1;
    }
    rest = rest.subarray(from);
  }
}
