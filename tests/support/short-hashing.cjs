// Preloaded into workers and functions: tokens are hashed in one round instead of 200,000, which cost 60 ms of a processor
// for each agent of a test. What is stored looks the same. Files that check a hash switch it off (`real-hashing.ts`).
const crypto = require("node:crypto");
const { syncBuiltinESMExports } = require("node:module");

const ROUNDS = 200_000;
const hashing = Symbol.for("board.test-hashing");

if (!globalThis[hashing]) {
  globalThis[hashing] = { real: false };
  const { pbkdf2 } = crypto;
  crypto.pbkdf2 = (password, salt, rounds, ...rest) => {
    const isShort = rounds === ROUNDS && !globalThis[hashing].real;
    return pbkdf2(password, salt, isShort ? 1 : rounds, ...rest);
  };
  syncBuiltinESMExports();
}
