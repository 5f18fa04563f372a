// Preloaded into workers and functions: tokens are hashed in one round. The usual 200,000 rounds would take 60 ms of processor
// time for each agent of a test. The stored format is the usual one. Files that check a hash switch this off (`real-hashing.ts`).
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
