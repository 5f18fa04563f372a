// Kills the process at its n-th kill point: before and after each request, each write and sync of a journal, and each start of a
// program. KILL_AT names n. The name of the point is appended to KILL_LOG.
const childProcess = require("node:child_process");
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { appendFileSync } = fs;
const kill_at = Number(process.env.KILL_AT);
let points = 0;

function point(name) {
  if (++points !== kill_at) return;
  appendFileSync(process.env.KILL_LOG, `${name}\n`);
  process.kill(process.pid, "SIGKILL");
}

const { fetch } = globalThis;
globalThis.fetch = async (request, ...rest) => {
  const { pathname } = new URL(request.url);
  const name = `${request.method} ${pathname.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "{id}")}`;
  point(`before ${name}`);
  const answer = await fetch(request, ...rest);
  point(`after ${name}`);
  return answer;
};
for (const name of ["writeSync", "fsyncSync", "rmSync"]) {
  const original = fs[name];
  fs[name] = (...args) => {
    point(`before ${name}`);
    // A write may be cut off in the middle.
    if (name === "writeSync" && points + 1 === kill_at && Buffer.isBuffer(args[1]))
      original(args[0], args[1], 0, args[1].length >> 1, args[4]);
    const result = points + 1 === kill_at && name === "writeSync" ? undefined : original(...args);
    point(`after ${name}`);
    return result;
  };
}
for (const name of ["spawn", "execFile"]) {
  const original = childProcess[name];
  childProcess[name] = Object.assign((...args) => {
    point(`before ${name}`);
    const child = original(...args);
    point(`after ${name}`);
    return child;
  }, original);
}
syncBuiltinESMExports();
