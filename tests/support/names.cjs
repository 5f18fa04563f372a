// Preloaded into a server, so that tests decide how names below .test resolve. Names below slow.test get no answer, and dns.lookup
// of such a name blocks a thread of the pool, as getaddrinfo does. Every other name is this machine, or does not resolve while the
// file NAMES_DOWN exists. Queries of a Resolver go to the name server NAMES_SERVER, which follows the same rules.
const dns = require("node:dns");
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const { NAMES_DOWN, NAMES_PIPE, NAMES_SERVER } = process.env;
/** How long getaddrinfo waits for silent name servers, by the defaults of resolv.conf. */
const SLOW_MS = 20_000;
const { lookup } = dns;

/** Opening a pipe blocks a thread until it has a writer. */
function blockThread(done) {
  fs.readFile(NAMES_PIPE, () => done());
  setTimeout(unblockThreads, SLOW_MS).unref();
}

function unblockThreads() {
  try {
    fs.closeSync(fs.openSync(NAMES_PIPE, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK));
  } catch (error) {
    // No thread is blocked, because an earlier call has unblocked all threads.
    if (error.code !== "ENXIO") throw error;
  }
}

dns.lookup = (hostname, options, callback) => {
  const done = callback ?? options;
  const { all = false } = typeof options === "object" ? options : {};
  const fail = () =>
    done(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${hostname}`), { code: "EAI_AGAIN", syscall: "getaddrinfo", hostname }));
  if (!hostname.endsWith(".test")) return lookup(hostname, options, callback);
  if (fs.existsSync(NAMES_DOWN)) return setImmediate(fail);
  if (hostname.endsWith(".slow.test")) return blockThread(fail);
  setImmediate(() => (all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)));
};
dns.promises.lookup = (hostname, options) =>
  new Promise((resolve, reject) => {
    dns.lookup(hostname, options ?? {}, (error, address, family) => {
      if (error) reject(error);
      else resolve(options?.all ? address : { address, family });
    });
  });

const pointToServer = (Resolver) =>
  class extends Resolver {
    constructor(...options) {
      super(...options);
      this.setServers([NAMES_SERVER]);
    }
  };
dns.Resolver = pointToServer(dns.Resolver);
dns.promises.Resolver = pointToServer(dns.promises.Resolver);
syncBuiltinESMExports();
