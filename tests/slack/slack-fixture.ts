import { expect } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import type { Answer } from "../support/http.ts";
import { type SlackWorkspace, startSlackWorkspace } from "../support/slack-workspace.ts";
import type { Person, Tenant, World } from "../support/world.ts";

type Body = Answer["body"];

export const APP = "/api/v1/organizations/me/slack";
export const LINK = "/api/v1/users/me/slack";
const INTERACTIONS = "/api/v1/slack/interactions";
const COMMANDS = "/api/v1/slack/commands";

export interface SlackFixture {
  world: World;
  slack: SlackWorkspace;
  /** Connects the app of the workspace. */
  connect: (admin: Person) => Promise<Answer>;
  /** Sends the command of the app as a Slack user. */
  command: (user_id: string, text: string) => Promise<Answer>;
  /** Links a Slack user to a person. */
  link: (person: Person, user_id: string) => Promise<void>;
  /** Adds a tenant whose organization has the app, and whose owner has linked the Slack user of this name. */
  addTenant: (name: string) => Promise<Tenant & { slack_user: string }>;
  /** Requests an approval and runs the jobs that send its messages. */
  ask: (home: Tenant, body?: object) => Promise<Body>;
  /** Presses a button as a Slack user. Returns what Slack got as an answer to the message. */
  press: (user_id: string, button: Body) => Promise<{ status: number; answers: Body[] }>;
  readApproval: (home: Tenant, id: string) => Promise<Body>;
}

/** Returns the buttons of a message. */
export const buttonsOf = (message: Body): Body[] =>
  message.blocks.filter(({ type }: Body) => type === "actions").flatMap(({ elements }: Body) => elements);

/** Returns the fixture for a service and a Slack workspace that the test file has opened. */
export function toSlackFixture(world: World, slack: SlackWorkspace): SlackFixture {
  const { team_id, bot_token, signing_secret } = slack;
  const connect = ({ token }: Person) => world.call("PUT", APP, { token, body: { bot_token, signing_secret } });
  const command = (user_id: string, text: string) =>
    world.call("POST", COMMANDS, slack.sign({ team_id, user_id, user_name: user_id, command: "/board", text }, world.now()));
  const link = async ({ token }: Person, user_id: string) => {
    const made = await world.call("POST", LINK, { token });
    expect(made.status, made.text).toBe(200);
    const sent = await command(user_id, made.body.command.replace("/board ", ""));
    expect(sent.body.text).toContain("is linked");
  };
  return {
    world,
    slack,
    connect,
    command,
    link,
    async addTenant(name) {
      const home = await world.tenant(name);
      expect((await connect(home.owner)).status).toBe(200);
      const slack_user = `U${name.toUpperCase()}`;
      await link(home.owner, slack_user);
      return { ...home, slack_user };
    },
    async ask(home, body = {}) {
      const approval = await requestApproval(world, home, body);
      await world.drain();
      return approval;
    },
    async press(user_id, button) {
      const { payload, response_url } = slack.press(user_id, button);
      const { status } = await world.call("POST", INTERACTIONS, slack.sign({ payload }, world.now()));
      await world.drain();
      return { status, answers: slack.answersTo(response_url) };
    },
    readApproval: async ({ board_id, owner }, id) =>
      (await world.call("GET", `/api/v1/boards/${board_id}/approvals/${id}`, { token: owner.token })).body,
  };
}

/** Opens a service and a Slack workspace for all tests of a file. */
export async function setupSlack(): Promise<SlackFixture> {
  const slack = await setup(startSlackWorkspace());
  const world = await setupWorld({ web: slack.web, environment: { BASE_URL: "https://board.example.com" } });
  return toSlackFixture(world, slack);
}
