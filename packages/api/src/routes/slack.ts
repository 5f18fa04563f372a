import { admin, anyone, member } from "@board/core/context/actor";
import { ConnectSlack, connectSlack, getSlackApp, removeSlackApp, SlackApp } from "@board/core/slack/app";
import { CommandReply, handleCommand, handleInteraction } from "@board/core/slack/interaction";
import { createSlackLink, SlackLink } from "@board/core/slack/link";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";

const APP = "/api/v1/organizations/me/slack";
/** The maximum size of a request by Slack, whose body contains the message with the button. */
const MAX_BYTES = 200_000;

/** The Slack app of the caller's organization. */
export const slackApp = [
  endpoint("GET", APP, { as: admin, summary: "Get the Slack app", errors: [404], returns: SlackApp }, (ctx) => getSlackApp(ctx)),
  endpoint(
    "PUT",
    APP,
    {
      as: admin,
      summary: "Connect a Slack app",
      description:
        "Stores the secrets of an app that an admin made in a workspace. The service asks Slack which workspace the token belongs to. If the workspace changes, people must link their Slack users again.",
      errors: [422],
      calls_out: true,
      body: ConnectSlack,
      returns: SlackApp,
    },
    (ctx, { body }) => connectSlack(ctx, body),
  ),
  endpoint(
    "DELETE",
    APP,
    {
      as: admin,
      summary: "Remove the Slack app",
      description: "Nobody is notified through Slack any more, and the links to Slack users are removed.",
      errors: [404],
      returns: Ok,
    },
    async (ctx) => {
      await removeSlackApp(ctx);
      return ok;
    },
  ),
];

/** The command with which a person links their Slack user. */
export const slackLink = [
  endpoint(
    "POST",
    "/api/v1/users/me/slack",
    {
      as: member,
      summary: "Link your Slack user",
      description:
        "Creates a command that you send in Slack within ten minutes. It works once, and links the Slack user that sends it to you.",
      errors: [409],
      returns: SlackLink,
    },
    (ctx) => createSlackLink(ctx),
  ),
];

/** Requests that Slack sends. They are authenticated by the signature of the workspace's app. */
export const slackRequests = [
  endpoint(
    "POST",
    "/api/v1/slack/interactions",
    {
      as: anyone,
      summary: "Handle a button in Slack",
      description: "Slack calls this when somebody presses a button. The message then shows who decided.",
      errors: [403],
      returns: Ok,
    },
    async (ctx, { http }) => {
      await handleInteraction(ctx, http.headers, await http.read(MAX_BYTES));
      return ok;
    },
  ),
  endpoint(
    "POST",
    "/api/v1/slack/commands",
    {
      as: anyone,
      summary: "Handle a command in Slack",
      description: "Slack calls this when somebody sends the command of the app.",
      errors: [403],
      returns: CommandReply,
    },
    async (ctx, { http }) => handleCommand(ctx, http.headers, await http.read(MAX_BYTES)),
  ),
];
