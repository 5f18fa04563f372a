// Preloaded into a function's process: other people's web servers are on loopback, all at the port OTHERS_PORT, with the
// certificate in the file OTHERS_CA. Their names lead to a public address, which the process checks as it does deployed.
const { readFileSync } = require("node:fs");
const dns = require("node:dns/promises");
const https = require("node:https");
const { syncBuiltinESMExports } = require("node:module");

dns.lookup = async () => [{ address: "8.8.8.8", family: 4 }];

const { request } = https;
https.request = (options, onResponse) => {
  const lookup = (_name, wanted, done) =>
    wanted.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4);
  const there = { lookup, port: process.env.OTHERS_PORT, ca: readFileSync(process.env.OTHERS_CA) };
  return request(Object.assign({}, options, there), onResponse);
};
syncBuiltinESMExports();
