// Preloaded into the service. The file FULL_DISK_FILE says how the disk is full. With "reported", the disk reports no free space.
// With "growth", no file of the database can grow, and with "log", no file of its log. The disk then still reports free space, as
// when another program fills it.
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { fstatSync, openSync, readFileSync, writeSync } = fs;
const { statfs } = fs.promises;
const database = `${process.env.DATA_DIR}/database`;
/** The path of each open file of the database. */
const files = new Map();

function state() {
  try {
    return readFileSync(process.env.FULL_DISK_FILE, "utf8");
  } catch {
    return "";
  }
}

fs.openSync = (path, ...rest) => {
  const fd = openSync(path, ...rest);
  if (String(path).startsWith(database)) files.set(fd, String(path));
  else files.delete(fd);
  return fd;
};
fs.writeSync = (fd, buffer, offset, length, position) => {
  const grows = files.has(fd) && position + length > fstatSync(fd).size;
  if (grows && (state() === "growth" || (state() === "log" && files.get(fd).includes("pg_wal"))))
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", errno: -28, syscall: "write" });
  return writeSync(fd, buffer, offset, length, position);
};
fs.promises.statfs = async (...args) => Object.assign(await statfs(...args), state() === "reported" ? { bavail: 0 } : {});
syncBuiltinESMExports();
