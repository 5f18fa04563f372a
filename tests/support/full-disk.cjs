// Preloaded into a server: while the file DISK_FULL exists, nothing can be written below the folder FULL_FOLDER.
const fs = require("node:fs");

const { DISK_FULL, FULL_FOLDER } = process.env;
const files = new Set();
const fail = (syscall) => {
  throw Object.assign(new Error(`ENOSPC: no space left on device, ${syscall}`), { code: "ENOSPC", errno: -28, syscall });
};

const { openSync, closeSync } = fs;
fs.openSync = (file, ...rest) => {
  const descriptor = openSync(file, ...rest);
  if (String(file).startsWith(FULL_FOLDER)) files.add(descriptor);
  return descriptor;
};
fs.closeSync = (descriptor) => {
  files.delete(descriptor);
  return closeSync(descriptor);
};
for (const name of ["writeSync", "ftruncateSync"]) {
  const original = fs[name];
  fs[name] = (descriptor, ...rest) =>
    files.has(descriptor) && fs.existsSync(DISK_FULL) ? fail(name) : original(descriptor, ...rest);
}
