// Preloaded into every process of a host. It refuses connections, name lookups and packets that would leave the machine
// and records them in the file NO_NET_LOG.
const dgram = require("node:dgram");
const dns = require("node:dns");
const { appendFileSync } = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const net = require("node:net");

const isHere = (host) =>
  host === undefined ||
  host === null ||
  host === "" ||
  /^(localhost|127\.\d+\.\d+\.\d+|::1|::|0\.0\.0\.0|::ffff:127\..*)$/i.test(String(host));

function refused(host) {
  if (process.env.NO_NET_LOG) appendFileSync(process.env.NO_NET_LOG, `${host}\n`);
  return Object.assign(new Error(`connect ENETUNREACH ${host}`), { code: "ENETUNREACH", hostname: host });
}

// It is called with the socket as `this` below.
// oxlint-disable-next-line typescript/unbound-method
const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...args) {
  // Node's internal callers pass the arguments as an array.
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const options = typeof first === "object" && first !== null ? first : { port: first, host: second };
  const isLocal = options.path !== undefined || (typeof first === "string" && !/^\d+$/.test(first)) || isHere(options.host);
  if (isLocal) return connect.apply(this, args);
  const error = refused(options.host);
  process.nextTick(() => this.destroy(error));
  return this;
};

const isName = (name) => typeof name === "string" && !isHere(name) && net.isIP(name) === 0;
for (const method of Object.keys(dns).filter((name) => /^(lookup|resolve|reverse)/.test(name))) {
  const before = dns[method];
  if (typeof before !== "function") continue;
  dns[method] = function (name, ...rest) {
    if (!isName(name)) return before.call(this, name, ...rest);
    const error = refused(name);
    process.nextTick(() => rest.at(-1)(error));
  };
  const promised = dns.promises[method];
  if (typeof promised !== "function") continue;
  dns.promises[method] = async function (name, ...rest) {
    if (isName(name)) throw refused(name);
    return promised.call(this, name, ...rest);
  };
}

// oxlint-disable-next-line typescript/unbound-method
const { send } = dgram.Socket.prototype;
dgram.Socket.prototype.send = function (...args) {
  const host = args.slice(1).find((arg) => typeof arg === "string");
  if (isHere(host)) return send.apply(this, args);
  const error = refused(host);
  const last = args.at(-1);
  if (typeof last === "function") process.nextTick(() => last(error));
};

syncBuiltinESMExports();
