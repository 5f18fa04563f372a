// Preloaded into a program: the process is killed in the middle of its second `writeFileSync`, when the file is still empty.
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { writeFileSync } = fs;
let calls = 0;
fs.writeFileSync = (file, ...rest) => {
  calls += 1;
  if (calls < 2) return writeFileSync(file, ...rest);
  writeFileSync(file, "");
  process.kill(process.pid, "SIGKILL");
};
syncBuiltinESMExports();
