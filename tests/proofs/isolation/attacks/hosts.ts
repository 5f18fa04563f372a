/** Attacks by the hosts of an organization. */
import type { WebSocket } from "ws";
import type { Attacker } from "../attacker.ts";
import { createSilentHost, nested, startHostileHost, toResponse } from "../../load/hostile-host.ts";
import type { AttackPlan } from "./all.ts";

const AGENTS = 40;
const GATEWAYS = 40;
const LONG_SECONDS = 9;
/** The port for discarded data, where nothing listens. */
const REFUSED = "ws://127.0.0.1:9";
const DEPTH = 200_000;
const FRAME_BYTES = 30_000_000;
const PATH_CHARS = 400_000;

const connection = (url: string) => ({ url, token: "some-token-of-a", workspace_root: "/srv/agents" });

const addGateway = (a: Attacker, url: string, n = 0) => a.create("/api/v1/gateways", { name: `Host ${n}`, ...connection(url) });

/** Adds a board with agents on a host, whose jobs then talk to it. */
async function addAgents(a: Attacker, url: string, agents: number, onRegistered = async () => {}): Promise<string> {
  const gateway_id = await addGateway(a, url);
  await onRegistered();
  const board = { name: "Crowd", description: "A crowd", gateway_id, max_agents: agents };
  const board_id = await a.create("/api/v1/boards", board);
  await Promise.all(Array.from({ length: agents }, (_, n) => a.create("/api/v1/agents", { name: `Agent ${n}`, board_id })));
  return gateway_id;
}

/** Talks to a host from jobs, and from requests that wait for its answers. */
async function talkTo(a: Attacker, url: string): Promise<void> {
  const gateway_id = await addAgents(a, url, 4);
  await a.forever(4, async () => {
    await a.call("GET", `/api/v1/gateways/sessions?gateway_id=${gateway_id}`);
    await a.call("GET", `/api/v1/gateways/status?gateway_id=${gateway_id}`);
  });
}

export const hostAttacks: Readonly<Record<string, AttackPlan>> = {
  "40 agents on a host that never answers": {
    seconds: LONG_SECONDS,
    async run(a) {
      const { url, listen } = await createSilentHost();
      await addAgents(a, url, AGENTS, listen);
    },
  },
  "40 agents on a host that answers no call": {
    seconds: LONG_SECONDS,
    async run(a) {
      await addAgents(a, await startHostileHost(() => {}), AGENTS);
    },
  },
  "40 gateways whose hosts are silent or refuse": {
    seconds: LONG_SECONDS,
    async run(a) {
      const mute = await startHostileHost(() => {});
      await Promise.all(
        Array.from({ length: GATEWAYS }, async (_, n) => {
          const silent = await createSilentHost();
          const gateway_id = await addGateway(a, [silent.url, mute, REFUSED][n % 3]!, n);
          if (n % 3 === 0) await silent.listen();
          const board_id = await a.create("/api/v1/boards", { name: `Board ${n}`, description: "A board", gateway_id });
          await a.create("/api/v1/agents", { name: "Lead", board_id, is_board_lead: true });
        }),
      );
    },
  },
  "status of a silent host, 50 requests at a time": {
    async run(a) {
      const { url, listen } = await createSilentHost();
      await listen();
      await a.forever(50, () => a.call("GET", `/api/v1/gateways/status?gateway_url=${encodeURIComponent(url)}`));
    },
  },
  "answers of a host nested 200,000 deep": {
    async run(a) {
      const deep = nested(DEPTH);
      const url = await startHostileHost((socket, { id }) => {
        socket.send(`{"type":"res","id":"${id}","ok":false,"error":{"message":"no","details":${deep}}}`);
        socket.send(`{"type":"event","event":"chat","payload":${deep}}`);
      });
      await talkTo(a, url);
    },
  },
  "answers of a host with a million values": {
    async run(a) {
      const many = `[${"{},".repeat(1_000_000)}{}]`;
      await talkTo(
        a,
        await startHostileHost((socket, { id }) => socket.send(`{"type":"res","id":"${id}","ok":true,"payload":${many}}`)),
      );
    },
  },
  "events of a host of 30 MB": {
    async run(a) {
      const event = `{"type":"event","event":"chat","payload":"${"x".repeat(FRAME_BYTES)}"}`;
      await talkTo(
        a,
        await startHostileHost(
          (socket) => socket.send(event),
          (socket) => socket.send(event),
        ),
      );
    },
  },
  "events of a host just below the largest size, without end": {
    async run(a) {
      const event = `{"type":"event","event":"chat","payload":[${"[1],".repeat(2_000_000)}1]}`;
      await talkTo(
        a,
        await startHostileHost(
          () => {},
          (socket) => flood(socket, event),
        ),
      );
    },
  },
  "small events of a host without end": {
    async run(a) {
      const event = JSON.stringify({ type: "event", event: "tick", payload: { ts: 1 } });
      await talkTo(
        a,
        await startHostileHost(
          () => {},
          (socket) => flood(socket, event),
        ),
      );
    },
  },
  "paths and files of a host that slow patterns down": {
    async run(a) {
      const path = `${"/".repeat(PATH_CHARS)}x`;
      const blanks = `AUTH_TOKEN=${" ".repeat(PATH_CHARS)}x`;
      const payload = {
        hash: "h",
        config: { agents: { defaults: { workspace: path }, list: [{ id: "main", workspace: path }] } },
        agents: [{ id: "main", workspace: path, name: blanks }],
        sessions: [{ key: blanks, label: path }],
        workspace: path,
        content: blanks,
        file: { name: "TOOLS.md", content: blanks },
      };
      await talkTo(a, await startHostileHost((socket, call) => socket.send(toResponse(call, payload))));
    },
  },
  "a host that hangs up at every call": {
    async run(a) {
      await talkTo(a, await startHostileHost((socket) => socket.terminate()));
    },
  },
  "40 hosts whose names are never resolved": {
    seconds: LONG_SECONDS,
    preloads: ["names.cjs"],
    async run(a) {
      await a.forever(GATEWAYS, async (n) => {
        await a.call("POST", "/api/v1/gateways", {
          body: { name: `Host ${n}`, ...connection(`ws://host-${n}.slow.test:18789`) },
        });
        await a.call("GET", `/api/v1/gateways/status?gateway_url=ws://other-${n}.slow.test:18789`);
      });
    },
  },
};

/** Sends as much as the other side takes. */
function flood(socket: WebSocket, text: string): void {
  if (socket.readyState !== socket.OPEN) return;
  const wait = socket.bufferedAmount > 20_000_000 ? 10 : 0;
  if (wait === 0) socket.send(text);
  setTimeout(() => flood(socket, text), wait);
}
