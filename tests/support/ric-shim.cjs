// Replaces rapid-client.node, the native part of AWS's runtime client, which would have to be compiled at install. It
// makes the same three calls of the Runtime API with node:http and is loaded with --require before the client.
const http = require("node:http");
const Module = require("node:module");

const [hostname, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function send(method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { hostname, port, path: `/2018-06-01/runtime/invocation/${path}`, method, agent, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () => resolve({ bodyJson: text, headers: response.headers }));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

// The client does not await done() and error(), so the next invocation is requested only after they were sent.
let posted = Promise.resolve();
const post = (path, body, headers) => {
  posted = posted.then(() => send("POST", path, body, { "content-type": "application/json", ...headers }));
};

const client = {
  initializeUserAgent() {},
  async next() {
    await posted;
    return send("GET", "next");
  },
  done(id, body) {
    post(`${id}/response`, body);
  },
  error(id, body) {
    post(`${id}/error`, body, { "lambda-runtime-function-error-type": JSON.parse(body).errorType });
  },
};

const load = Module._load;
Module._load = function (request, ...rest) {
  return request.endsWith("/rapid-client.node") ? client : load.call(this, request, ...rest);
};
