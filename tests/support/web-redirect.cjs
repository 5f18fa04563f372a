// Preloaded into the process of a function: it redirects requests to other web servers to the port OTHERS_PORT on loopback
// with the certificate in the file OTHERS_CA. Names resolve to a public address first, so the process still checks it.
const { readFileSync } = require("node:fs");
const dns = require("node:dns/promises");
const https = require("node:https");
const { syncBuiltinESMExports } = require("node:module");

dns.lookup = async () => [{ address: "8.8.8.8", family: 4 }];

const { request } = https;
https.request = (options, onResponse) => {
  const lookup = (_name, wanted, done) =>
    wanted.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4);
  const target = { lookup, port: process.env.OTHERS_PORT, ca: readFileSync(process.env.OTHERS_CA) };
  return request(Object.assign({}, options, target), onResponse);
};
syncBuiltinESMExports();
