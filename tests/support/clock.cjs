// Preloaded into a function's process: shifts its clock by the milliseconds that stand in the file CLOCK_FILE names, or
// holds it at those that stand there behind an @.
// The process runs as it is deployed; only what it takes for "now" is the test's.
const { readFileSync } = require("node:fs");

const RealDate = Date;
const now = () => {
  try {
    const text = readFileSync(process.env.CLOCK_FILE, "utf8");
    return text.startsWith("@") ? Number(text.slice(1)) : RealDate.now() + Number(text);
  } catch {
    return RealDate.now();
  }
};

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(now());
    else super(...parts);
  }
  static now() {
    return now();
  }
};
