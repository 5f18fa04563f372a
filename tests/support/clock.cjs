// Preloaded into a function's process: shifts its clock by the milliseconds that stand in the file CLOCK_FILE names.
// The process runs as it is deployed; only what it takes for "now" is the test's.
const { readFileSync } = require("node:fs");

const RealDate = Date;
const offset = () => {
  try {
    return Number(readFileSync(process.env.CLOCK_FILE, "utf8"));
  } catch {
    return 0;
  }
};

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + offset());
    else super(...parts);
  }
  static now() {
    return RealDate.now() + offset();
  }
};
