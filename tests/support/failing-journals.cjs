// Preloaded into a runner: the disk is full for those lines of journals that match the pattern DISK_FULL. A full disk takes the
// first half of a line before it fails.
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { openSync, closeSync, writeSync } = fs;
const full = new RegExp(process.env.DISK_FULL);
const journals = new Set();

fs.openSync = (file, ...rest) => {
  const descriptor = openSync(file, ...rest);
  if (String(file).endsWith(".jsonl")) journals.add(descriptor);
  return descriptor;
};
fs.closeSync = (descriptor) => {
  journals.delete(descriptor);
  closeSync(descriptor);
};
fs.writeSync = (descriptor, buffer, offset, length, position) => {
  if (!journals.has(descriptor) || !full.test(buffer)) return writeSync(descriptor, buffer, offset, length, position);
  if (offset === 0 && length > 1) return writeSync(descriptor, buffer, 0, length >> 1, position);
  throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", errno: -28, syscall: "write" });
};
syncBuiltinESMExports();
